"""Families: groups of pairs that share text, found by joining pairs that share a key."""

import hashlib
import re
from array import array
from collections.abc import Iterable

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
