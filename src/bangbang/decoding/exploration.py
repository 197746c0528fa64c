"""Many ways of decoding at once: beams, length penalties, samples and temperatures of minimum Bayes risk.

Nothing is computed twice. The encoder runs once; one search of a beam serves all length penalties, which only rank what
it finds; the samples of a temperature are drawn once, and fewer samples are the first ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch

from bangbang.contracts import Model, Sources
from bangbang.decoding.beam import BeamSearch, ranked
from bangbang.decoding.generation import check_memory, encoded, found_something
from bangbang.decoding.minimum_risk import pools, utilities
from bangbang.decoding.sampling import Hypothesis
from bangbang.decoding.settings import DecodingSettings, by_method
from bangbang.decoding.utility import Utility
from bangbang.errors import InputError

Outputs = dict[DecodingSettings, list[Hypothesis]]
"""The best hypothesis of each line, by the way of decoding."""


class Grid(NamedTuple):
    """What is tried."""

    beams: Sequence[int] = (1, 2, 4, 8)
    """A beam of 1 is greedy."""
    penalties: Sequence[float] = (0.6, 0.8, 1.0, 1.2)
    samples: Sequence[int] = (16, 32)
    """Of minimum Bayes risk."""
    temperatures: Sequence[float] = (0.4, 0.6, 0.8, 1.0)

    def of_beams(self, base: DecodingSettings) -> list[list[DecodingSettings]]:
        """Groups of ways that one search serves."""
        sizes, penalties = sorted(set(self.beams)), sorted(set(self.penalties))
        greedy = [[by_method(base, "greedy")] for size in sizes if size == 1]
        beam = by_method(base, "beam")
        wider = [
            [replace(beam, beam_size=size, length_penalty=each) for each in penalties] for size in sizes if size != 1
        ]
        return [*greedy, *wider]

    def of_samples(self, base: DecodingSettings) -> list[list[DecodingSettings]]:
        """Groups of ways that the samples of the last one serve."""
        risk, sizes = by_method(base, "mbr"), sorted(set(self.samples))
        heats = sorted(set(self.temperatures)) if sizes else []
        return [[replace(risk, mbr_samples=size, temperature=heat) for size in sizes] for heat in heats]

    def ways(self, base: DecodingSettings) -> list[DecodingSettings]:
        """All of them, the cheaper first."""
        found = [way for group in (*self.of_beams(base), *self.of_samples(base)) for way in group]
        if not found:
            raise InputError("there is nothing to try; give beams, or samples and temperatures")
        return found


@torch.no_grad()
def explore(
    model: Model[Any],
    sources: Sources,
    base: DecodingSettings,
    grid: Grid,
    max_length: int,
    utility: Utility | None,
    seed: int = 1,
    device: torch.device | str = "cpu",
    done: Callable[[int], object] = lambda lines: None,
) -> Outputs:
    """The best hypothesis of every source in each way of the grid, as `generate` would find it."""
    ways = grid.ways(base)
    for way in ways:
        check_memory(way, len(sources), 1, max_length, model.head.size)
    found: dict[DecodingSettings, dict[int, Hypothesis]] = {way: {} for way in ways}
    for lines, state in encoded(model, sources, base.batch_size, device):
        batch = Explorer(model, state, lines, max_length, seed, utility).explore(base, grid)
        for way, best in batch.items():
            found[way].update(zip(lines, best, strict=True))
        done(len(lines))
    return {way: [best[line] for line in range(len(sources))] for way, best in found.items()}


class Explorer(NamedTuple):
    """A batch of encoded lines."""

    model: Model[Any]
    state: Any
    lines: list[int]
    max_length: int
    seed: int
    utility: Utility | None

    def explore(self, base: DecodingSettings, grid: Grid) -> Outputs:
        found: Outputs = {}
        for group in grid.of_beams(base):
            found |= self.searched(group)
        for group in grid.of_samples(base):
            found |= self.drawn(group)
        return found

    def searched(self, ways: Sequence[DecodingSettings]) -> Outputs:
        size = ways[0].beam_size if ways[0].method == "beam" else 1
        search = BeamSearch(self.model, self.state, size, self.max_length, ways[0])
        ended = [found_something(each) for each in search.search()]
        return {way: [ranked(each, way.length_penalty, self.max_length)[0] for each in ended] for way in ways}

    def drawn(self, ways: Sequence[DecodingSettings]) -> Outputs:
        if self.utility is None:
            raise InputError("minimum Bayes risk needs a utility")
        found = pools(self.model, self.state, self.lines, ways[-1], self.max_length, self.seed)
        pairs = list(zip(found, utilities(found, self.utility, self.state.device), strict=True))
        return {way: [pool.ranked(matrix, way.mbr_samples)[0] for pool, matrix in pairs] for way in ways}
