"""Many inputs in, their hypotheses out, in order: batching by length."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from bangbang import memory
from bangbang.contracts import Model, Sources, State
from bangbang.decoding.beam import BeamSearch
from bangbang.decoding.minimum_risk import minimum_risk
from bangbang.decoding.sampling import Hypothesis, rows_together, sample_lines
from bangbang.decoding.settings import DecodingSettings
from bangbang.decoding.utility import Utility
from bangbang.errors import InputError
from bangbang.products import by_widest_instructions
from bangbang.symbols import PAD, UNK


def decoding_device() -> torch.device:
    """The machine's accelerator, as in training; the CPU where there is none, with its fastest products."""
    by_widest_instructions()
    # `current_accelerator` alone names what torch was built for, whether the machine has it or not
    found = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    return found or torch.device("cpu")


def check_memory(config: DecodingSettings, lines: int, nbest: int, max_length: int, vocabulary: int) -> None:
    """An InputError if one batch cannot fit: a beam of K has B·K·2K extensions; of B·N samples, some rows at a time
    have V probabilities each.
    """
    together = min(lines, config.batch_size)
    if samples := {"sample": nbest, "mbr": config.mbr_samples}.get(config.method, 0):
        rows = together * samples
        needed = 8 * min(rows, rows_together(vocabulary)) * vocabulary + 12 * rows * max_length
        fewer = "--nbest" if config.method == "sample" else "--mbr"
        memory.require(needed, f"{samples:,} samples of {together:,} lines", f"lower {fewer} or --batch-size")
    if beam := beam_of(config, nbest):
        needed = together * beam * (12 * min(2 * beam, vocabulary) + 8 * max_length)
        memory.require(needed, f"a beam of {beam:,} for {together:,} lines", "lower --beam, --nbest or --batch-size")


def beam_of(config: DecodingSettings, nbest: int) -> int:
    """Prefixes that are held; 0 where nothing is searched."""
    return {"greedy": nbest, "beam": max(nbest, config.beam_size), "mbr": config.mbr_beam}.get(config.method, 0)


@torch.no_grad()
def generate(
    model: Model[Any],
    sources: Sources,
    config: DecodingSettings,
    max_length: int,
    nbest: int = 1,
    seed: int = 1,
    first_line: int = 0,
    device: torch.device | str = "cpu",
    done: Callable[[int], object] = lambda lines: None,
    part: tuple[int, int] = (0, 1),
    utility: Utility | None = None,
) -> list[list[Hypothesis]]:
    """`nbest` hypotheses, best first, for each source: token ids, or a row of image features.

    A line comes out the same alone and in any batch: padding is masked, and a sampled line's random numbers depend on
    (seed, its line number) only. Minimum Bayes risk needs a `utility`, and has no more hypotheses than were drawn.
    `done` is called with the number of lines of each finished batch. With `part` (r, n), every n-th batch from the r-th
    on is decoded and the other lines get none: the batches are those of one process.
    """
    check_memory(config, len(sources), nbest, max_length, model.head.size)
    results: list[list[Hypothesis]] = [[] for _ in sources]
    for lines, state in encoded(model, sources, config.batch_size, device, part):
        numbers = [first_line + line for line in lines]
        if config.method == "sample":
            batch = sample_lines(model, state, numbers, config, max_length, nbest, seed)
        elif config.method == "mbr":
            batch = minimum_risk(model, state, numbers, config, max_length, seed, utility)
        else:
            batch = BeamSearch(model, state, beam_of(config, nbest), max_length, config).run()
        for line, hypotheses in zip(lines, batch, strict=True):
            results[line] = found_something(hypotheses)[:nbest]
        done(len(lines))
    return results


def found_something(hypotheses: list[Hypothesis]) -> list[Hypothesis]:
    """A line's hypotheses, if it has any: weights may be finite, and products of them not."""
    if not hypotheses:
        raise InputError("the model generates nothing, because its numbers are not finite; choose another checkpoint")
    return hypotheses


def encoded(
    model: Model[State], sources: Sources, batch_size: int, device: torch.device | str, part: tuple[int, int] = (0, 1)
) -> Iterator[tuple[list[int], State]]:
    """Batches of lines of like lengths, and the model's state before their first tokens."""
    model.eval()
    order = sorted(range(len(sources)), key=lambda line: len(sources[line]))
    first, parts = part
    for start in range(first * batch_size, len(order), parts * batch_size):
        lines = order[start : start + batch_size]
        source, length = collate(sources, lines)
        yield lines, model.encode(source.to(device), length.to(device))


def collate(sources: Sources, lines: Sequence[int]) -> tuple[Tensor, Tensor]:
    """The inputs of some lines as a model reads them, and their lengths [B]."""
    if isinstance(sources, Tensor):
        return sources[list(lines)], torch.ones(len(lines), dtype=torch.long)
    return pad([sources[line] for line in lines])


def pad(sources: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Token ids [B, S] and lengths [B]; an empty source is read as one unknown token."""
    filled = [list(source) or [UNK] for source in sources]
    longest = max(map(len, filled))
    tokens = torch.tensor([source + [PAD] * (longest - len(source)) for source in filled])
    return tokens, torch.tensor([len(source) for source in filled])
