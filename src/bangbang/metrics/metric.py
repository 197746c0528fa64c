"""What every metric gives, so that scoring, comparing and resampling treat all of them alike.

A metric is a function of sums: each example has a row of sufficient statistics, and the corpus score depends on the
rows' sum and number only. BLEU sums n-gram counts; a mean of sentence scores sums those scores. So a bootstrap
resample costs one weighted sum, never a second look at the text.

Shapes: N examples, S statistics, M scores, R resamples.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bangbang.errors import InputError

Array = NDArray[np.float64]


class Metric(Protocol):
    """A corpus metric; `names[m]` names score m."""

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def signature(self) -> str:
        """Every option and version that the numbers depend on."""
        ...

    def statistics(self, candidates: Sequence[str], references: Sequence[Sequence[str]]) -> Array:
        """One row of sufficient statistics per example.  [N, S]"""
        ...

    def aggregate(self, sums: Array, count: int) -> Array:
        """Corpus scores from sums of the rows of `count` examples.  [..., S] -> [..., M]"""
        ...

    def per_example(self, statistics: Array) -> Array:
        """Scores of single examples.  [N, S] -> [N, M]"""
        ...


def lower_is_better(metric: Metric) -> frozenset[str]:
    """The scores of which less is better; a metric that has such names them in an attribute `lower_is_better`."""
    return frozenset(getattr(metric, "lower_is_better", ()))


def is_better(metric: Metric, score: str, new: float, old: float) -> bool:
    return new < old if score in lower_is_better(metric) else new > old


def check_aligned(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    """Refuse corpora that cannot be scored: none, unequal numbers, an example without a reference, bare strings."""
    if isinstance(candidates, str) or isinstance(references, str):
        raise InputError("candidates must be a list of texts and references a list of lists of texts")
    if len(candidates) != len(references):
        raise InputError(f"{len(candidates)} candidates but {len(references)} sets of references")
    if not candidates:
        raise InputError("there is nothing to score: no candidates")
    for index, texts in enumerate(references):
        if isinstance(texts, str):
            raise InputError(f"references of example {index} are one text; give a list of texts")
        if not texts:
            raise InputError(f"example {index} has no reference")
