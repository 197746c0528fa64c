"""Error bars by resampling examples with replacement (Efron 1979).

A resample of N examples is a row of N counts that add up to N; its statistics are counts @ statistics. Rows are drawn
in chunks, so memory stays bounded however many examples and resamples there are.

Shapes: N examples, S statistics, M scores, R resamples.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bangbang.errors import InputError
from bangbang.metrics.metric import Array, Metric

SEED = 1
_DRAWS_AT_ONCE = 1 << 21


@dataclass(frozen=True)
class Resampling:
    """How to resample: how often, how wide the interval, and from which seed."""

    resamples: int = 1000
    confidence: float = 0.95
    seed: int = SEED

    def __post_init__(self) -> None:
        if self.resamples < 2:
            raise InputError(f"resamples={self.resamples} must be at least 2")
        if not 0 < self.confidence < 1:
            raise InputError(f"confidence={self.confidence} must lie between 0 and 1")
        if self.seed < 0:
            raise InputError(f"seed={self.seed} must not be negative")

    @property
    def signature(self) -> str:
        return f"bootstrap:{self.resamples}|confidence:{self.confidence:g}|seed:{self.seed}"


class Estimate(NamedTuple):
    """A score, the standard deviation of its resampled values, and their percentile interval (None: not resampled)."""

    value: float
    standard_error: float | None = None
    low: float | None = None
    high: float | None = None


def resampled_sums(statistics: Array, resampling: Resampling) -> Array:
    """Sums of the statistics of resampled corpora.  [N, S] -> [R, S]"""
    return np.concatenate([counts @ statistics for counts in _draws(len(statistics), resampling)])


def _draws(examples: int, resampling: Resampling) -> Iterator[Array]:
    """How often each resample holds each example, some resamples at a time.  [chunk, N]"""
    generator = np.random.default_rng(resampling.seed)
    chunk = max(1, _DRAWS_AT_ONCE // examples)
    for start in range(0, resampling.resamples, chunk):
        rows = min(chunk, resampling.resamples - start)
        drawn = generator.integers(0, examples, size=(rows, examples), dtype=np.int64)
        drawn += np.arange(rows)[:, None] * examples
        yield np.bincount(drawn.ravel(), minlength=rows * examples).reshape(rows, examples).astype(np.float64)


def estimates(metric: Metric, statistics: Array, resampling: Resampling | None) -> list[Estimate]:
    """The corpus scores of `metric`, one estimate per name."""
    count = len(statistics)
    values = metric.aggregate(statistics.sum(axis=0), count)  # [M]
    if resampling is None:
        return [Estimate(float(value)) for value in values]
    resampled = metric.aggregate(resampled_sums(statistics, resampling), count)  # [R, M]
    errors = resampled.std(axis=0, ddof=1)
    low, high = interval(resampled, resampling.confidence)
    return [Estimate(*map(float, row)) for row in zip(values, errors, low, high, strict=True)]


def interval(resampled: Array, confidence: float) -> tuple[Array, Array]:
    """The percentile interval of each column.  [R, M] -> [M], [M]"""
    tail = (1 - confidence) / 2
    low, high = np.quantile(resampled, [tail, 1 - tail], axis=0)
    return low, high
