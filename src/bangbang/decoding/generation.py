"""Many inputs in, their hypotheses out, in order: batching by length, and one random stream per line."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from bangbang import memory
from bangbang.contracts import Model, Sources, State
from bangbang.decoding.beam import BeamSearch
from bangbang.decoding.sampling import Hypothesis, sample
from bangbang.decoding.settings import DecodingSettings
from bangbang.errors import InputError
from bangbang.randomness import seed_for
from bangbang.symbols import PAD, UNK


def decoding_device() -> torch.device:
    """The machine's accelerator, as in training; the CPU where there is none."""
    # `current_accelerator` alone names what torch was built for, whether the machine has it or not
    found = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    return found or torch.device("cpu")


def check_memory(config: DecodingSettings, lines: int, nbest: int, max_length: int, vocabulary: int) -> None:
    """An InputError if one batch cannot fit: of a beam of K, B·K·2K extensions; of samples, B·N·V probabilities."""
    together = min(lines, config.batch_size)
    if config.method == "sample":
        needed = together * nbest * (8 * vocabulary + 12 * max_length)
        memory.require(needed, f"{nbest:,} samples of {together:,} lines", "lower --nbest or --batch-size")
    else:
        beam = beam_of(config, nbest)
        needed = together * beam * (12 * min(2 * beam, vocabulary) + 8 * max_length)
        memory.require(needed, f"a beam of {beam:,} for {together:,} lines", "lower --beam, --nbest or --batch-size")


def beam_of(config: DecodingSettings, nbest: int) -> int:
    return max(nbest, config.beam_size if config.method == "beam" else 1)


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
) -> list[list[Hypothesis]]:
    """`nbest` hypotheses, best first, for each source: token ids, or a row of image features.

    A line comes out the same alone and in any batch: padding is masked, and a sampled line's random numbers depend on
    (seed, its line number) only. `done` is called with the number of lines of each finished batch. With `part` (r, n),
    every n-th batch from the r-th on is decoded and the other lines get none: the batches are those of one process.
    """
    check_memory(config, len(sources), nbest, max_length, model.head.size)
    model.eval()
    order = sorted(range(len(sources)), key=lambda line: len(sources[line]))
    results: list[list[Hypothesis]] = [[] for _ in sources]
    first, parts = part
    for start in range(first * config.batch_size, len(order), parts * config.batch_size):
        lines = order[start : start + config.batch_size]
        source, length = collate(sources, lines)
        state = model.encode(source.to(device), length.to(device))
        if config.method == "sample":
            batch = sample_lines(model, state, [first_line + line for line in lines], config, max_length, nbest, seed)
        else:
            search = BeamSearch(model, state, beam_of(config, nbest), max_length, config)
            batch = [ranked[:nbest] for ranked in search.run()]
        for line, hypotheses in zip(lines, batch, strict=True):
            if not hypotheses:  # weights may be finite, and products of them not
                raise InputError(
                    "the model generates nothing, because its numbers are not finite; choose another checkpoint"
                )
            results[line] = hypotheses
        done(len(lines))
    return results


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


def sample_lines(
    model: Model[State],
    state: State,
    lines: Sequence[int],
    config: DecodingSettings,
    max_length: int,
    nbest: int,
    seed: int,
) -> list[list[Hypothesis]]:
    device = state.device
    uniform = torch.stack([line_uniforms(seed, line, number, max_length) for line in lines for number in range(nbest)])
    rows = torch.arange(len(lines), device=device).repeat_interleave(nbest)
    drawn = sample(model, state.select(rows), uniform.to(device), max_length, config)
    blocks = [drawn[start : start + nbest] for start in range(0, len(drawn), nbest)]
    return [sorted(block, key=lambda hypothesis: -hypothesis.score) for block in blocks]


def line_uniforms(seed: int, line: int, number: int, count: int) -> Tensor:
    """The random numbers [count] of the `number`-th sample of a line, always drawn on the CPU."""
    generator = torch.Generator().manual_seed(seed_for(seed, "sample", line, number))
    return torch.rand(count, generator=generator)
