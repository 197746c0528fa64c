"""A foreign vocabulary in our ids: the one place that says how they are translated.

Ids 0 to 3 are `<pad>`, `<s>`, `</s>` and `<unk>`, as everywhere in this package; token i of the foreign vocabulary is
i + 4. Its ends are `</s>`, and its token for unknown words, where it has one, is `<unk>`. Vocabularies and borrowed
output layers both translate by this.
"""

from collections.abc import Sequence

from bangbang.errors import InputError
from bangbang.symbols import EOS, SYMBOLS, UNK

NONE = -1  # where the other side has no token


class Translation:
    """The tables of a translation: `ours[i]` is our id of their token i, `theirs[i]` their id of our token i or -1."""

    def __init__(self, foreign_size: int, ends: Sequence[int], unknown: int | None = None) -> None:
        """`ends`: their tokens that end a sequence; the first one is written for `</s>`, the others are only read.

        An unknown token that is an end stays an end, and `<unk>` then has no counterpart.
        """
        check_tokens("end", ends, foreign_size)
        check_tokens("unknown", [] if unknown is None else [unknown], foreign_size)
        if not ends:
            raise InputError("a vocabulary needs an end token: name at least one")
        self.foreign_size, self.ends, self.unknown = foreign_size, list(ends), unknown
        first = len(SYMBOLS)
        self.ours = list(range(first, first + foreign_size))
        self.theirs = [NONE] * first + list(range(foreign_size))
        if unknown is not None and unknown not in ends:
            self.ours[unknown], self.theirs[UNK], self.theirs[unknown + first] = UNK, unknown, NONE
        for end in ends:
            self.ours[end], self.theirs[end + first] = EOS, NONE
        self.theirs[EOS] = ends[0]

    @property
    def size(self) -> int:
        """The number of our ids."""
        return len(self.theirs)


def check_tokens(name: str, tokens: Sequence[int], foreign_size: int) -> None:
    """An InputError if one of the tokens is none of theirs."""
    if outside := [token for token in tokens if not 0 <= token < foreign_size]:
        raise InputError(f"{name} token {outside[0]} is outside a vocabulary of {foreign_size} tokens")
