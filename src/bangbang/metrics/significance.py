"""Error bars by resampling, and tests of whether system A is better than system B or got lucky on these examples.

bootstrap (Efron 1979):
    a resample of N examples is a row of N counts that add up to N; its statistics are counts @ statistics
paired bootstrap (Koehn 2004, with the shift of Riezler & Maxwell 2005):
    resample examples; p = how often |d* - mean d*| >= |d|
approximate randomisation (Noreen 1989):
    swap the two systems' outputs at random, example by example; p = how often |d'| >= |d|
d is the observed difference A - B. Both p-values count the observation itself, (1 + hits) / (1 + R), so that no p-value
is below 1 / (1 + R).

A system may be a method that was trained with several seeds: its score is the mean of theirs, and an example is drawn,
or swapped, for all of them together.

Shapes: K seeds, N examples, S statistics, M scores, R resamples.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bangbang import memory
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
    needed = statistics.nbytes // statistics.shape[-2] * resampling.resamples
    memory.require(needed, f"{resampling.resamples:,} resamples", "lower --resamples")
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


_DRAWS_AT_ONCE = 1 << 21
_ROUNDING = 1e-12  # differences closer than this are equal


@dataclass(frozen=True)
class ScoreComparison:
    """One score of two systems; `difference` is A - B with its bootstrap error bars."""

    a: Estimate
    b: Estimate
    difference: Estimate
    p_bootstrap: float
    p_randomisation: float


@dataclass(frozen=True)
class Comparison:
    """Two systems under every score of a metric, and each example's difference A - B, of means over seeds.  [N, M]"""

    scores: dict[str, ScoreComparison]
    differences: Array
    signature: str

    def moved_most(self, name: str, number: int) -> list[tuple[int, float]]:
        """The examples whose score differs most, with the difference A - B; none that do not differ."""
        column = self.differences[:, list(self.scores).index(name)]
        order = np.argsort(-np.abs(column), kind="stable")[:number]
        return [(int(index), float(column[index])) for index in order if column[index]]


def compare(
    metric: Metric,
    candidates_a: Sequence[str],
    candidates_b: Sequence[str],
    references: Sequence[Sequence[str]],
    resampling: Resampling = Resampling(),  # noqa: B008 - immutable
) -> Comparison:
    """Score two systems on the same examples and test their difference."""
    if len(candidates_a) != len(candidates_b):
        raise InputError(f"the systems differ in length: {len(candidates_a)} and {len(candidates_b)} candidates")
    a, b = (metric.statistics(candidates, references) for candidates in (candidates_a, candidates_b))
    return compare_statistics(metric, a, b, resampling)


def compare_statistics(metric: Metric, a: Array, b: Array, resampling: Resampling) -> Comparison:
    """The same from statistics that `metric` gave earlier, of two systems on the same examples.

    [N, S], or of several seeds [K, N, S]; the systems may differ in K.
    """
    a, b = by_seed(a), by_seed(b)
    estimates_a, estimates_b = (estimates(metric, statistics, resampling) for statistics in (a, b))
    observed = np.array([ours.value - theirs.value for ours, theirs in zip(estimates_a, estimates_b, strict=True)])
    # equal seeds of `resampling` draw equal examples for both systems: that is what pairs them
    resampled = resampled_scores(metric, a, resampling) - resampled_scores(metric, b, resampling)  # [R, M]
    p_bootstrap = _p_value(resampled - resampled.mean(axis=0), observed)
    p_randomisation = _p_value(_swapped_differences(metric, a, b, resampling), observed)
    bars = zip(observed, resampled.std(axis=0, ddof=1), *interval(resampled, resampling.confidence), strict=True)
    differences = [Estimate(*map(float, row)) for row in bars]
    scores = map(ScoreComparison, estimates_a, estimates_b, differences, p_bootstrap, p_randomisation)
    ours, theirs = (np.mean([metric.per_example(seed) for seed in seeds], axis=0) for seeds in (a, b))  # [N, M]
    return Comparison(
        dict(zip(metric.names, scores, strict=True)), ours - theirs, f"{metric.signature}|{resampling.signature}"
    )


def _p_value(under_null: Array, observed: Array) -> list[float]:
    """How often chance alone gives a difference as large.  [R, M], [M] -> M numbers"""
    hits = (np.abs(under_null) >= np.abs(observed) - _ROUNDING).sum(axis=0)
    return [float((1 + count) / (1 + len(under_null))) for count in hits]


def p_text(p: float, resamples: int) -> str:
    """A p-value for people: "= 0.021", or "≤ 0.001" at the floor 1 / (1 + R), as it may be any smaller one there."""
    if p > 1 / (1 + resamples):
        return "< 0.001" if p < 0.001 else f"= {p:.3f}" if p < 0.1 else f"= {p:.2f}"
    digits = 1 + math.ceil(math.log10(1 + resamples))  # for two that are not 0
    bound = -(-(10**digits) // (1 + resamples)) / 10**digits  # rounded up, so that it is one
    return f"≤ {bound:.{digits}f}".rstrip("0")


def _swapped_differences(metric: Metric, a: Array, b: Array, resampling: Resampling) -> Array:
    """Differences after random swaps: A' = B + swaps @ (A - B), B' = A - swaps @ (A - B).  [R, M]

    The k-th seed of A swaps with the k-th of B, on the same examples for all k. A system of fewer seeds begins again
    with its first, up to the least common multiple of both numbers: so every seed counts as often as the others of its
    system, no swap gives the observed difference, and all swaps give its negative. With equal numbers of seeds the test
    is exact if the systems can be exchanged. For a metric that is a mean over examples any pairing of seeds gives
    the same, the test on each example's mean over seeds.
    """
    turns = np.arange(math.lcm(len(a), len(b)))
    a, b = a[turns % len(a)], b[turns % len(b)]  # [L, N, S]
    count, difference = a.shape[1], a - b
    parts = []
    for kept in _coins(count, resampling):  # [chunk, N]
        moved = kept @ difference  # [L, chunk, S]
        ours, theirs = b.sum(axis=1, keepdims=True) + moved, a.sum(axis=1, keepdims=True) - moved
        parts.append(mean_scores(metric, ours, count) - mean_scores(metric, theirs, count))
    return np.concatenate(parts)


def _coins(examples: int, resampling: Resampling) -> Iterator[Array]:
    generator = np.random.default_rng(resampling.seed)
    chunk = max(1, _DRAWS_AT_ONCE // examples)
    for start in range(0, resampling.resamples, chunk):
        rows = min(chunk, resampling.resamples - start)
        octets = generator.integers(0, 256, size=(rows, (examples + 7) // 8), dtype=np.uint8)
        yield np.unpackbits(octets, axis=1, count=examples).astype(np.float64)
