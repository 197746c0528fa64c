"""Sums in words: "seven plus twelve" and "nineteen". Made by rule, so nothing is read."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from bangbang.corpora.pairs import Ledger, Pair, Reader
from bangbang.corpora.settings import CorpusSettings

ONES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
ONES += ["thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def in_words(number: int) -> str:
    """A number below 100."""
    if number < len(ONES):
        return ONES[number]
    tens, ones = divmod(number, 10)
    return TENS[tens - 2] + (f" {ONES[ones]}" if ones else "")


@dataclass(frozen=True)
class Arithmetic(CorpusSettings):
    """Sums of two numbers, written in words."""

    corpus: str = "arithmetic"
    largest: int = 40
    """The largest number that is added; the sum must stay below 100."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(largest=(1 <= self.largest < 50, "at least 1 and below 50"))

    def build(self) -> Reader:
        return Reader("arithmetic", {"kind": "arithmetic", "largest": self.largest}, {"train": self.pairs})

    def pairs(self, ledger: Ledger) -> Iterator[Pair]:
        for one, other in product(range(self.largest + 1), repeat=2):
            source = f"{in_words(one)} plus {in_words(other)}"
            yield Pair(source, (in_words(one + other),), source)
