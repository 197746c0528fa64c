"""How tokens are written: the characters of a text that grows token by token, where a token may be part of a character.

B rows · K tokens · L characters of a token
"""

import codecs
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from bangbang.errors import InputError
from bangbang.symbols import EOS, PAD, UNK

END = 0x110000  # the character of `</s>`: one past the last of Unicode
STRAY = END + 1  # and from here on bytes that are no part of a character
NEVER = -2  # a character of z that is in no reference
UNKNOWN = -1  # a character of y that no z has
NONE = -3  # no character at all
ESCAPED = range(0xDC80, 0xDD00)  # what Python's "surrogateescape" writes such bytes as
FIRST = {2: 0x80, 3: 0x800, 4: 0x10000}  # the first character that takes so many bytes


class Written(NamedTuple):
    """What a token adds to a text."""

    characters: tuple[int, ...]  # those that it completes
    left: bytes  # the beginning of a character that it does not complete


class Spelling:
    """The characters of tokens.

    `texts[i]` is the text of token i. Where a token is a piece that begins or ends inside a character, such bytes are
    written in it as by Python's "surrogateescape".
    """

    def __init__(self, texts: Sequence[str], separator: str) -> None:
        if len(separator) > 1:
            raise InputError(f"the separator must be one character or none, not {separator!r}")
        self.texts = texts
        self.separator = separator.encode()
        self.of = lru_cache(maxsize=100_000)(self.written)

    def written(self, token: int, left: bytes, first: bool) -> Written:
        """What a token adds after a text that ends with the bytes `left`; the first one has no separator before it."""
        if token == PAD:
            return Written((), left)
        if token == EOS:
            return Written((*decoded(left, final=True)[0], END), b"")
        before = left if first else left + self.separator
        if token == UNK:
            return Written((*decoded(before, final=True)[0], NEVER), b"")
        if token >= len(self.texts):
            raise InputError(f"token id {token} has no text: there are {len(self.texts)} texts")
        return Written(*decoded(before + self.texts[token].encode("utf-8", "surrogateescape"), final=False))

    def of_reference(self, tokens: Sequence[int]) -> list[int]:
        """The characters of a whole reference."""
        characters: list[int] = []
        left = b""
        for place, token in enumerate(tokens):
            completed, left = self.of(token, left, place == 0)
            characters += completed
        return [UNKNOWN if character == NEVER else character for character in characters]


def decoded(text: bytes, *, final: bool) -> tuple[tuple[int, ...], bytes]:
    """The characters of a text and, unless this is the end of it, the bytes of a last one that is not complete."""
    characters, used = codecs.utf_8_decode(text, "surrogateescape", final)
    numbers = map(ord, characters)
    return tuple(STRAY + number if number in ESCAPED else number for number in numbers), text[used:]


def possible(left: bytes) -> tuple[int, int]:
    """The first and the last character that begins with these bytes; NONE if there are no bytes."""
    if not left:
        return NONE, NONE
    size = 2 if left[0] < 0xE0 else 3 if left[0] < 0xF0 else 4
    number = left[0] & 0x7F >> size
    for byte in left[1:]:
        number = number << 6 | byte & 0x3F
    missing = 6 * (size - len(left))
    return max(number << missing, FIRST[size]), min((number + 1 << missing) - 1, END - 1)


def padded(rows: Sequence[Sequence[int]], filler: int, device: torch.device) -> Tensor:
    width = max((len(row) for row in rows), default=0)
    return torch.tensor([[*row, *[filler] * (width - len(row))] for row in rows], dtype=torch.long, device=device)
