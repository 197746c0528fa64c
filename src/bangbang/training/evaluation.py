"""Decode a split and score it, beside the lead-words baseline."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from bangbang.config import DecodingConfig
from bangbang.data import Split, Vocabulary, spread
from bangbang.decoding import decoding_device, generate
from bangbang.models import SequenceModel
from bangbang.training.run import Run


class Decoded(NamedTuple):
    sources: list[str]
    references: list[list[str]]
    outputs: list[str]


def decode_split(
    model: SequenceModel[Any],
    vocabulary: Vocabulary,
    split: Split,
    decoding: DecodingConfig,
    max_source_length: int,
    max_length: int,
    limit: int = 0,
    seed: int = 1,
    device: torch.device | str = "cpu",
    done: Callable[[int], object] = lambda lines: None,
    part: tuple[int, int] = (0, 1),
    gather: Callable[[Any], list[Any]] = lambda own: [own],
) -> Decoded:
    """The model's outputs for the split's first `limit` rows (0: all), from their raw text or their images.

    Of several processes, the r-th of n decodes part (r, n), and `gather` gives every process all their outputs.
    """
    rows = slice(0, limit or len(split))
    sources = split.sources(rows)
    inputs: Tensor | list[list[int]]
    if split.has_images:
        inputs = split.features(rows)
    else:
        inputs = [tokens[:max_source_length] for tokens in vocabulary.encode_batch(sources)]
    hypotheses = generate(model, inputs, decoding, max_length, seed=seed, device=device, done=done, part=part)
    own = [(line, vocabulary.decode(best[0].tokens)) for line, best in enumerate(hypotheses) if best]
    outputs = dict(pair for pairs in gather(own) for pair in pairs)
    return Decoded(sources, split.references(rows), [outputs[line] for line in range(len(sources))])


def decode_run(
    run: Run,
    split: Split,
    decoding: DecodingConfig,
    checkpoint: str = "best",
    limit: int = 0,
    seed: int = 1,
    done: Callable[[int], object] = lambda lines: None,
) -> Decoded:
    """The outputs of a run's checkpoint for a split, which may be another corpus's; on the machine's accelerator."""
    data, device = run.config.data, decoding_device()
    lengths = data.max_source_length, data.max_target_length
    model = run.load_model(checkpoint, device)
    return decode_split(model, run.vocabulary, split, decoding, *lengths, limit, seed, device, done)


def lead_words(sources: Sequence[str], count: int) -> list[str]:
    """The baseline: the first `count` words of each source."""
    return [" ".join(source.split()[:count]) for source in sources]


def headline_words(train: Split, sample: int = 2000) -> int:
    """The mean number of words of the training references, from an even sample: how long a lead baseline should be."""
    rows = spread(len(train), sample)
    lengths = [len(reference.split()) for references in train.references(rows) for reference in references]
    return max(1, round(float(np.mean(lengths))))
