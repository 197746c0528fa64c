"""Minimum Bayes risk: of what a model draws for a line, the text that is best if another of the draws is right.

    z* = arg max_z  Σ_y  n(y) / N · U(z, y)

over the distinct candidates z, where n(y) of the N draws are y. So it is what the model's own texts agree on most, by a
utility U that may be the reported metric. A text that is likely but unlike all others loses.

Shapes: C candidates and R references of a line.
"""

from collections.abc import Iterator, Sequence
from itertools import compress
from typing import NamedTuple

import torch
from torch import Tensor

from bangbang.contracts import Model, State
from bangbang.decoding.beam import BeamSearch
from bangbang.decoding.sampling import Hypothesis, draw_lines
from bangbang.decoding.settings import DecodingSettings
from bangbang.decoding.utility import Contest, Utility, says_something
from bangbang.errors import InputError
from bangbang.rewards.state import equal_if_close


class Pool(NamedTuple):
    """The distinct texts that were found for a line."""

    texts: list[Hypothesis]
    draws: list[int]
    """Which of them each draw is."""
    searched: list[int]
    """Which of them a beam found."""

    @classmethod
    def of(cls, drawn: Sequence[Hypothesis], searched: Sequence[Hypothesis] = ()) -> "Pool":
        places: dict[tuple[int, ...], int] = {}
        texts: list[Hypothesis] = []
        for each in (*drawn, *searched):
            if places.setdefault(tuple(each.tokens), len(texts)) == len(texts):
                texts.append(each)
        numbers = [places[tuple(each.tokens)] for each in (*drawn, *searched)]
        return cls(texts, numbers[: len(drawn)], numbers[len(drawn) :])

    @property
    def references(self) -> list[bool]:
        """Which texts can be compared with: what was drawn and says something."""
        drawn = set(self.draws)
        return [number in drawn and says_something(each.tokens) for number, each in enumerate(self.texts)]

    def contest(self) -> Contest:
        texts = [each.tokens for each in self.texts]
        return Contest(texts, list(compress(texts, self.references)))

    def ranked(self, utilities: Tensor, samples: int | None = None) -> list[Hypothesis]:
        """The candidates, best first, each with its expected utility as its score; by the first `samples` draws.

        Of equal ones the likelier comes first. `utilities` [C, R] are those of the contest.
        """
        draws = torch.tensor(self.draws[:samples], dtype=torch.long)
        counts = torch.bincount(draws, minlength=len(self.texts))
        expected = expected_utility(utilities, counts[torch.tensor(self.references)])
        numbers = sorted({*draws.tolist(), *self.searched})
        largest = utilities.abs().max() if utilities.numel() else expected.new_zeros(())
        scores = equal_if_close(expected[numbers].unsqueeze(0), largest.unsqueeze(0)).squeeze(0).tolist()
        found = [self.texts[each]._replace(score=score) for each, score in zip(numbers, scores, strict=True)]
        return sorted(found, key=lambda each: (-each.score, -each.log_prob))


def expected_utility(utilities: Tensor, counts: Tensor) -> Tensor:
    """Σ_y n(y) U(z, y) / Σ_y n(y), and 0 where there is nothing to compare with: [C, R], [R] -> [C]"""
    return (utilities * counts).sum(1) / counts.sum().clamp(min=1)


def minimum_risk(
    model: Model[State],
    state: State,
    lines: Sequence[int],
    config: DecodingSettings,
    max_length: int,
    seed: int,
    utility: Utility | None,
) -> list[list[Hypothesis]]:
    """The candidates of each line, best first."""
    if utility is None:
        raise InputError("decoding.method = 'mbr' needs a utility, such as RewardUtility(RougeL())")
    found = pools(model, state, lines, config, max_length, seed)
    matrices = utilities(found, utility, state.device)
    return [pool.ranked(matrix) for pool, matrix in zip(found, matrices, strict=True)]


def pools(
    model: Model[State], state: State, lines: Sequence[int], config: DecodingSettings, max_length: int, seed: int
) -> list[Pool]:
    """What is drawn, and searched, for some lines."""
    drawn = draw_lines(model, state, lines, config, max_length, config.mbr_samples, seed)
    if not config.mbr_beam:
        return [Pool.of(each) for each in drawn]
    searched = BeamSearch(model, state, config.mbr_beam, max_length, config).run()
    return [Pool.of(*each) for each in zip(drawn, searched, strict=True)]


def utilities(found: Sequence[Pool], utility: Utility, device: torch.device) -> Iterator[Tensor]:
    """U of every candidate and reference of each line. [C, R]"""
    return utility.matrices([pool.contest() for pool in found], device)
