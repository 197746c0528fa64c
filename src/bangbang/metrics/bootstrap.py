"""Error bars by resampling examples with replacement (Efron 1979).

A resample of N examples is a row of N counts that add up to N; its statistics are counts @ statistics. Rows are drawn
in chunks, so memory stays bounded however many examples and resamples there are.

A system that was trained with several seeds has the mean of their corpus scores, and so has each of its resamples.

Shapes: K seeds, N examples, S statistics, M scores, R resamples.
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
    """Sums of the statistics of resampled corpora, of the same examples for every seed.  [..., N, S] -> [..., R, S]"""
    draws = _draws(statistics.shape[-2], resampling)
    return np.concatenate([counts @ statistics for counts in draws], axis=-2)


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
    """The corpus scores of `metric`, one estimate per name.  [N, S], or of several seeds [K, N, S]"""
    seeds = by_seed(statistics)
    values = mean_scores(metric, seeds.sum(axis=-2), seeds.shape[1])  # [M]
    if resampling is None:
        return [Estimate(float(value)) for value in values]
    resampled = resampled_scores(metric, seeds, resampling)  # [R, M]
    errors = resampled.std(axis=0, ddof=1)
    low, high = interval(resampled, resampling.confidence)
    return [Estimate(*map(float, row)) for row in zip(values, errors, low, high, strict=True)]


def by_seed(statistics: Array) -> Array:
    """[N, S] -> [1, N, S]; [K, N, S] as it is."""
    return statistics[None] if statistics.ndim == 2 else statistics


def mean_scores(metric: Metric, sums: Array, count: int) -> Array:
    """1/K Σ_k f(Σ_n s_kn), where f is the metric: not f of averaged sums.  [K, ..., S] -> [..., M]"""
    return np.asarray(metric.aggregate(sums, count).mean(axis=0))


def resampled_scores(metric: Metric, seeds: Array, resampling: Resampling) -> Array:
    """The scores of resampled corpora.  [K, N, S] -> [R, M]"""
    return mean_scores(metric, resampled_sums(seeds, resampling), seeds.shape[1])


def interval(resampled: Array, confidence: float) -> tuple[Array, Array]:
    """The percentile interval of each column.  [R, M] -> [M], [M]"""
    tail = (1 - confidence) / 2
    low, high = np.quantile(resampled, [tail, 1 - tail], axis=0)
    return low, high
