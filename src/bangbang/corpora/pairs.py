"""What every reader of a corpus yields and reports, and families: groups of pairs that share text."""

import hashlib
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
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


WORD = re.compile(r"[^\W_]+")


def stable_hash(text: str) -> int:
    """A 64-bit hash that is the same everywhere and always."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def normalised(text: str) -> str:
    """Lower-case words and nothing else: what two texts must share to count as the same."""
    return " ".join(WORD.findall(text.lower()))


def opening(text: str, words: int) -> str:
    """The first words of a normalised text."""
    return " ".join(normalised(text[: 40 * words]).split()[:words])


class UnionFind:
    """Disjoint sets over 0..n-1."""

    def __init__(self, size: int) -> None:
        self._parent = array("l", range(size))

    def find(self, member: int) -> int:
        parent = self._parent
        while parent[member] != member:
            parent[member] = parent[parent[member]]
            member = parent[member]
        return member

    def join(self, members: Iterable[int]) -> None:
        """Put all members in one set; its representative is the smallest."""
        roots = sorted({self.find(member) for member in members})
        for root in roots[1:]:
            self._parent[root] = roots[0]
