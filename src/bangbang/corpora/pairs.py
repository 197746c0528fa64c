"""What every reader of a corpus yields and reports."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bangbang.features import FeatureTable


class Pair(NamedTuple):
    """A text, or an image's name, and what should be generated for it."""

    source: str
    targets: tuple[str, ...]
    """One or several references."""
    family: str
    """Pairs of one family stay on one side of the split."""


@dataclass
class Ledger:
    """What a reader reports besides its pairs: what it dropped, and how far it has come."""

    drops: Counter[str] = field(default_factory=Counter)
    progress: Callable[[int, int], None] = lambda done, total: None
    """Called with (done, total) in whatever unit the reader counts in."""

    def drop(self, reason: str) -> None:
        self.drops[reason] += 1


Section = Callable[[Ledger], Iterator[Pair]]


@dataclass(frozen=True)
class Reader:
    """A corpus that can be read: its splits, each a stream of pairs."""

    name: str
    """Starts the name of the prepared folder."""
    identity: Mapping[str, Any]
    """What the pairs are made from, as JSON: two readers of equal identity yield the same pairs."""
    splits: Mapping[str, Section]
    """`train` always; `valid` and `test` where the corpus comes with them."""
    features: FeatureTable | None = None
    """Of the images, where the sources are names of images; every source has a row in it."""
    synthetic: bool = False
    """Whether all of it was drawn and written by rule."""
