"""Whether a blank stands before or after a mark, by the words around it, as training targets have it.

Between two words there always is one. Beside a mark there is a rule for the mark alone, and exceptions: whether words
or marks stand around it, then a word on one side, then those on both. The narrowest exception decides.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bangbang.errors import InputError

MARK = re.compile(r"[^\w\s]+")
WORD, ANY = r"\w", ".*"  # what stands for every word, and for everything
LEAST = 2  # times that an exception was seen


class Beside(NamedTuple):
    """A place where a blank may be: before or after a mark."""

    side: str
    """`<` before the mark, `>` after it."""
    odd: str
    """Whether the same mark stood an odd number of times before this place, `1` or `0`: a quote opens, then closes."""
    left: str
    """The token before the mark; nothing at the start."""
    mark: str
    right: str

    def contexts(self) -> list["Beside"]:
        """This place and wider ones, the narrowest first."""
        left, right = kind(self.left), kind(self.right)
        return [
            self,
            self._replace(left=left),
            self._replace(right=right),
            self._replace(left=left, right=right),
            self._replace(left=ANY, right=ANY),
            self._replace(left=ANY, right=ANY, odd=ANY),
        ]


def kind(token: str) -> str:
    return token if not token or MARK.fullmatch(token) else WORD


def between(tokens: Sequence[str]) -> Iterator[Beside | None]:
    """The place between every two neighbours; None between two words."""
    seen: Counter[str] = Counter()
    padded = ["", *tokens, ""]
    for place in range(1, len(tokens)):
        before, left, right, after = padded[place - 1 : place + 3]
        seen[left] += 1
        if MARK.fullmatch(right):
            yield Beside("<", str(seen[right] % 2), left, right, after)
        elif MARK.fullmatch(left):
            yield Beside(">", str(seen[left] % 2), before, left, right)
        else:
            yield None


class Blanks:
    """Whether there is a blank, by context: a rule for each mark, and exceptions to what is known of wider contexts."""

    def __init__(self, known: Mapping[Beside, bool]) -> None:
        self.known = known

    @classmethod
    def learn(cls, seen: Mapping[tuple[Beside, bool], int]) -> "Blanks":
        """From how often each place was seen with a blank and without."""
        levels: list[Counter[Beside]] = [Counter() for _ in Beside("", "", "", "", "").contexts()]
        sizes: Counter[Beside] = Counter()
        for (place, blank), count in seen.items():
            for context, level in zip(place.contexts(), levels, strict=True):
                level[context] += count if blank else -count
            for context in set(place.contexts()):
                sizes[context] += count
        known: dict[Beside, bool] = {}
        found = cls(known)
        for level in reversed(levels):
            for context, balance in level.items():
                if sizes[context] >= LEAST and balance and (balance > 0) != found.blank(context):
                    known[context] = balance > 0
        return found

    def blank(self, place: Beside | None) -> bool:
        if place is None:
            return True
        return next((self.known[context] for context in place.contexts() if context in self.known), True)

    def plain(self) -> dict[str, bool]:
        """As JSON has it: no token has a blank inside."""
        return {" ".join(context): blank for context, blank in self.known.items()}

    @classmethod
    def of(cls, table: Mapping[str, Any], path: Path) -> "Blanks":
        known = {}
        for name, blank in table.items():
            fields = name.split(" ")
            if len(fields) != len(Beside._fields) or not isinstance(blank, bool):
                raise InputError(
                    f"{path}: damaged (blanks: {name!r:.40}); remove it, and outputs are shown word by word"
                )
            known[Beside(*fields)] = blank
        return cls(known)
