"""ROUGE as ROUGE-1.5.5.pl computes it, without Perl.

    recall = hits / reference units,  precision = hits / candidate units,  F1 = 2 P R / (P + R)
For ROUGE-W the two ratios are raised to 1/1.2, the inverse of its weighting. The script rounds P and R to five decimals
before F1; here nothing is rounded.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from bangbang import __version__
from bangbang.errors import InputError
from bangbang.metrics.metric import Array, check_aligned
from bangbang.metrics.rouge_counts import Counts, Text, n_grams, read, skip_bigrams, union_lcs, weighted_union_lcs
from bangbang.metrics.significance import Estimate, Resampling, estimates

WEIGHT = 1.2  # of ROUGE-W; f(k) = k^1.2

COUNTING: Mapping[str, Callable[[Text, Text], Counts]] = {
    **{f"rouge-{order}": partial(n_grams, order) for order in (1, 2, 3, 4)},
    "rouge-l": union_lcs,
    "rouge-w-1.2": partial(weighted_union_lcs, WEIGHT),
    "rouge-s": partial(skip_bigrams, False),
    "rouge-su": partial(skip_bigrams, True),
}
DEFAULT_METRICS = ("rouge-1", "rouge-2", "rouge-3", "rouge-l")
PARTS = ("recall", "precision", "f1")


class RougeScore(NamedTuple):
    """One example's score under one metric, and the counts it comes from (summed over references)."""

    recall: float
    precision: float
    f1: float
    reference_units: float
    candidate_units: float
    hits: float


class RougeEstimate(NamedTuple):
    """A corpus score under one metric: means over examples, with error bars where resampled."""

    recall: Estimate
    precision: Estimate
    f1: Estimate


class Rouge:
    """ROUGE-1.5.5 of candidates against one or several references each.

    stem: stem words, as the script's -m does and pyrouge always asks for.
    max_bytes: cut candidate and references after so many bytes, as -b does (DUC-2004: 75).
    multi: "average" sums hits and units over references (-f A); "best" takes the reference of best recall (-f B).
    metrics: which of rouge-1..4, rouge-l, rouge-w-1.2, rouge-s, rouge-su.
    """

    def __init__(
        self,
        stem: bool = False,
        max_bytes: int | None = None,
        multi: Literal["average", "best"] = "average",
        metrics: Sequence[str] = DEFAULT_METRICS,
    ) -> None:
        unknown = [name for name in metrics if name not in COUNTING]
        if unknown or not metrics or len(set(metrics)) < len(metrics):
            raise InputError(f"metrics {list(metrics)} must be different ones of {', '.join(COUNTING)}")
        if multi not in ("average", "best"):
            raise InputError(f'multi={multi!r} must be "average" or "best"')
        if max_bytes is not None and max_bytes < 1:
            raise InputError(f"max_bytes={max_bytes} must be at least 1; leave it out for whole texts")
        self.stem, self.max_bytes, self.multi, self.metrics = stem, max_bytes, multi, tuple(metrics)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{metric}.{part}" for metric in self.metrics for part in PARTS)

    @property
    def signature(self) -> str:
        stem = "porter-wordnet" if self.stem else "no"
        return (
            f"rouge|as:1.5.5|metrics:{','.join(self.metrics)}|stem:{stem}|bytes:{self.max_bytes or 'all'}"
            f"|multi:{self.multi}|sentences:newline|bangbang:{__version__}"
        )

    def words(self, text: str) -> list[str]:
        """The words that n-grams are made of."""
        return read(text, self.stem, self.max_bytes).words

    def score(self, candidate: str, references: Sequence[str]) -> dict[str, RougeScore]:
        """Recall, precision, F1 and counts of one candidate, per metric."""
        check_aligned([candidate], [references])
        counts = np.array([self._counts(candidate, references)], dtype=np.float64)  # [1, metrics, 3]
        scores = self._ratios(counts)[0]
        return {
            metric: RougeScore(*(float(score) for score in scores[index]), *_exact(metric, counts[0, index]))
            for index, metric in enumerate(self.metrics)
        }

    def corpus(
        self,
        candidates: Sequence[str],
        references: Sequence[Sequence[str]],
        resampling: Resampling | None = Resampling(),  # noqa: B008 - immutable
    ) -> dict[str, RougeEstimate]:
        """Means over examples, with bootstrap error bars; `resampling=None` skips those and is quicker."""
        flat = estimates(self, self.statistics(candidates, references), resampling)
        return {metric: RougeEstimate(*flat[3 * index : 3 * index + 3]) for index, metric in enumerate(self.metrics)}

    def statistics(self, candidates: Sequence[str], references: Sequence[Sequence[str]]) -> Array:
        """The scores themselves: a corpus score is their mean.  [N, 3 x metrics]"""
        check_aligned(candidates, references)
        counts = np.array([self._counts(*pair) for pair in zip(candidates, references, strict=True)], dtype=np.float64)
        return self._ratios(counts).reshape(len(candidates), -1)

    def aggregate(self, sums: Array, count: int) -> Array:
        return sums / count

    def per_example(self, statistics: Array) -> Array:
        return statistics

    def _counts(self, candidate: str, references: Sequence[str]) -> list[Counts]:
        ours = read(candidate, self.stem, self.max_bytes)
        theirs = [read(reference, self.stem, self.max_bytes) for reference in references]
        if len(theirs) == 1:
            return [COUNTING[metric](ours, theirs[0]) for metric in self.metrics]
        return [self._over_references(metric, ours, theirs) for metric in self.metrics]

    def _over_references(self, metric: str, ours: Text, theirs: list[Text]) -> Counts:
        counts = [COUNTING[metric](ours, reference) for reference in theirs]
        if self.multi == "best":
            return max(counts, key=partial(_recall_compared, metric))  # the first of equals, as in the script
        return Counts(*map(sum, zip(*counts, strict=True)))

    def _ratios(self, counts: Array) -> Array:
        """[N, metrics, (reference, candidate, hits)] -> [N, metrics, (recall, precision, f1)]"""
        units, hits = counts[..., :2], counts[..., 2:]
        ratios = np.divide(hits, units, out=np.zeros_like(units), where=units > 0)
        for index, metric in enumerate(self.metrics):
            if metric == "rouge-w-1.2":
                ratios[:, index] **= 1 / WEIGHT
        total = ratios.sum(axis=-1, keepdims=True)
        f1 = np.divide(2 * ratios[..., :1] * ratios[..., 1:], total, out=np.zeros_like(total), where=total > 0)
        return np.concatenate([ratios, f1], axis=-1)


def _exact(metric: str, counts: Array) -> list[float]:
    """Counts are whole numbers, except ROUGE-W's weights."""
    return [float(count) if metric == "rouge-w-1.2" else int(count) for count in counts]


def _recall_compared(metric: str, counts: Counts) -> float:
    """The recall by which -f B picks a reference: rounded for n-grams, and for ROUGE-W over the unraised weight."""
    if not counts.reference:
        return 0.0
    if metric == "rouge-w-1.2":
        return counts.hits / float(counts.reference ** (1 / WEIGHT))
    recall = counts.hits / counts.reference
    return recall if metric == "rouge-l" else float(f"{recall:.5f}")
