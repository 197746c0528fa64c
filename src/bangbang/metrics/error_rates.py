"""Error rates of strings: the share that is not exactly right, and the share of symbols to be edited.

    WER = 100 · |{n : z_n ≠ y_n}| / N        PER, CER = 100 · Σ_n D(z_n, y_n) / Σ_n |y_n|

where D is the Levenshtein distance. WER is that of SIGMORPHON's tasks of pronunciation: a word counts as a whole. With
several references, an output is right if it is one of them, and is edited to the nearest, the first of equals.

Shapes: N examples.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from bangbang import __version__
from bangbang.metrics.metric import Array, check_aligned

Unit = Literal["symbols", "characters"]
RATES = {"symbols": "per", "characters": "cer"}


class ErrorRates:
    """WER, and PER of symbols with blanks between them or CER of characters, blanks included."""

    def __init__(self, unit: Unit = "symbols") -> None:
        self.unit = unit
        self.names = ("wer", RATES[unit])
        self.lower_is_better = frozenset(self.names)

    @property
    def signature(self) -> str:
        return f"error-rates|unit:{self.unit}|multi:nearest|bangbang:{__version__}"

    def parts(self, text: str) -> list[str]:
        """The symbols of a text."""
        return text.split() if self.unit == "symbols" else list(text)

    def words(self, text: str) -> list[str]:
        """What is between blanks, whatever is edited."""
        return text.split()

    def statistics(self, candidates: Sequence[str], references: Sequence[Sequence[str]]) -> Array:
        """Whether an output is wrong, its edits, and the length of what it is edited to.  [N, 3]"""
        check_aligned(candidates, references)
        rows = [self.errors(*pair) for pair in zip(candidates, references, strict=True)]
        return np.array(rows, dtype=np.float64)

    def errors(self, candidate: str, references: Sequence[str]) -> tuple[int, int, int]:
        ours = self.parts(candidate)
        edits, length = min(
            ((edit_distance(ours, theirs), len(theirs)) for theirs in map(self.parts, references)),
            key=lambda found: found[0],
        )
        return int(edits > 0), edits, length

    def aggregate(self, sums: Array, count: int) -> Array:
        wrong, edits, length = np.moveaxis(sums, -1, 0)
        return np.stack([100 * wrong / count, rate(edits, length)], axis=-1)

    def per_example(self, statistics: Array) -> Array:
        return self.aggregate(statistics, 1)


def rate(edits: Array, length: Array) -> Array:
    """Edits in a hundred symbols; where all references are empty, in a hundred edits."""
    return np.asarray(100 * edits / np.where(length > 0, length, np.maximum(edits, 1)))


def edit_distance(z: Sequence[str], y: Sequence[str]) -> int:
    """D(z, y), the fewest insertions, deletions and replacements that make y of z."""
    if list(z) == list(y):
        return 0
    row = list(range(len(y) + 1))  # D(z_{1:i}, y_{1:j}) for all j
    for i, symbol in enumerate(z, 1):
        corner, row[0] = row[0], i
        for j, other in enumerate(y, 1):
            corner, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, corner + (symbol != other))
    return row[-1]
