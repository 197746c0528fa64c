"""Decode a split: a model's outputs beside their sources and references."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from bangbang.contracts import Model
from bangbang.data import Split
from bangbang.decoding import Utility, decoding_device, generate
from bangbang.decoding.settings import DecodingSettings
from bangbang.training.run import Run
from bangbang.training.utilities import run_utility


class Decoded(NamedTuple):
    sources: list[str]
    references: list[list[str]]
    outputs: list[str]
    cut: list[bool]
    """Whether each output was cut at the length limit."""


def decode_split(
    run: Run,
    model: Model[Any],
    split: Split,
    decoding: DecodingSettings,
    limit: int = 0,
    seed: int = 1,
    device: torch.device | str = "cpu",
    done: Callable[[int], object] = lambda lines: None,
    part: tuple[int, int] = (0, 1),
    gather: Callable[[Any], list[Any]] = lambda own: [own],
    utility: Utility | None = None,
) -> Decoded:
    """The model's outputs for the split's first `limit` rows (0: all), from their raw text or their images.

    Minimum Bayes risk needs a `utility`: `utilities.run_utility` has that of a run.
    Of several processes, the r-th of n decodes part (r, n), and `gather` gives every process all their outputs.
    """
    rows = slice(0, limit or len(split))
    sources = split.sources(rows)
    inputs = run.task.inputs(split, rows, run.encode_sources)
    length = run.config.data.max_target_length
    hypotheses = generate(
        model, inputs, decoding, length, seed=seed, device=device, done=done, part=part, utility=utility
    )
    own = [(line, best[0].tokens) for line, best in enumerate(hypotheses) if best]
    found = dict(pair for pairs in gather(own) for pair in pairs)
    tokens = [found[line] for line in range(len(sources))]
    outputs, cut = list(map(run.vocabulary.decode, tokens)), [len(each) >= length for each in tokens]
    return Decoded(sources, split.references(rows), outputs, cut)


def decode_run(
    run: Run,
    split: Split,
    decoding: DecodingSettings,
    checkpoint: str = "best",
    limit: int = 0,
    seed: int = 1,
    done: Callable[[int], object] = lambda lines: None,
) -> Decoded:
    """The outputs of a run's checkpoint for a split, which may be another corpus's; on the machine's accelerator."""
    device, utility = decoding_device(), run_utility(run, decoding)
    model = run.load_model(checkpoint, device)
    return decode_split(run, model, split, decoding, limit, seed, device, done, utility=utility)
