"""The character error rate of texts that grow by tokens.

B rows · M references per row · T reference characters · U candidate slots · L characters of a token
"""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from bangbang.errors import InputError
from bangbang.rewards.edit_row import edit_row
from bangbang.rewards.references import References
from bangbang.rewards.state import ScoredState
from bangbang.symbols import EOS, PAD, UNK

END = 0x110000  # the character of `</s>`: one past the last of Unicode
NEVER = -2  # a character of z that is in no reference
UNKNOWN = -1  # a character of y that no z has
NONE = -3  # no character at all


class Spelling:
    """How tokens are written."""

    def __init__(self, texts: Sequence[str], separator: str) -> None:
        if len(separator) > 1:
            raise InputError(f"the separator must be one character or none, not {separator!r}")
        self.texts = texts
        self.before = ord(separator) if separator else NONE

    def of(self, token: int) -> list[int]:
        """A token's separator, or NONE, then its characters."""
        if token == PAD:
            return []
        if token == EOS:
            return [NONE, END]
        if token == UNK:
            return [self.before, NEVER]
        if token >= len(self.texts):
            raise InputError(f"token id {token} has no text: there are {len(self.texts)} texts")
        return [self.before, *map(ord, self.texts[token])]

    def of_all(self, tokens: Tensor) -> Tensor:
        """[B, K] -> [B, K, L]"""
        spellings = [self.of(token) for token in tokens.flatten().tolist()]
        return padded(spellings, NONE, tokens.device).view(*tokens.shape, -1)

    def of_reference(self, tokens: Sequence[int]) -> list[int]:
        """The characters of a whole reference; the first token has no separator."""
        marks = [mark for token in tokens for mark in self.of(token)][1:]
        return [UNKNOWN if mark == NEVER else mark for mark in marks if mark != NONE]


def padded(rows: Sequence[Sequence[int]], filler: int, device: torch.device) -> Tensor:
    width = max((len(row) for row in rows), default=0)
    return torch.tensor([[*row, *[filler] * (width - len(row))] for row in rows], dtype=torch.long, device=device)


class CharacterErrorState(ScoredState):
    """Keeps the last row of the table D(z's text, y's text up to character j), j = 0 ... T."""

    def __init__(self, spelling: Spelling, several: Literal["mean", "best"], references: References) -> None:
        super().__init__(references, several)
        self.spelling = spelling
        texts = [spelling.of_reference(tokens) for tokens in references.tokens.flatten(0, 1).tolist()]
        lengths = torch.tensor([len(text) for text in texts], device=self.scores.device)
        self.lengths = lengths.view(references.lengths.shape)  # [B, M]
        self.characters = padded(texts, UNKNOWN, self.scores.device).view(*self.lengths.shape, -1)  # [B, M, T]
        others = torch.full_like(references.candidates[:, :1], UNK)
        self.spellings = spelling.of_all(torch.cat([references.candidates, others], dim=1))  # [B, U + 1, L]
        positions = torch.arange(self.characters.shape[2] + 1, device=self.scores.device)
        self.row = positions.expand(*self.lengths.shape, -1)  # [B, M, T + 1]

    def append(self, spellings: Tensor) -> Tensor:
        """The rows of the table after each of several spellings: [B, K, L] -> [B, M, K, T + 1]"""
        rows = self.row[:, :, None].expand(-1, -1, spellings.shape[1], -1)
        first = 1 if self.t == 0 else 0  # no separator before the first token
        for characters in spellings.unbind(2)[first:]:
            differs = self.characters[:, :, None] != characters[:, None, :, None]
            rows = edit_row(rows, differs).where((characters != NONE)[:, None, :, None], rows)
        return rows

    def next_scores(self) -> Tensor:
        scores = self.score(self.append(self.spellings))
        empty = torch.nn.functional.pad(self.references.candidates == PAD, (0, 1))  # [B, U + 1]
        return scores.where(~empty[:, None], scores[:, :, -1:])

    def follow_scores(self, tokens: Tensor) -> Tensor:
        rows = self.append(self.spelling.of_all(tokens[:, None]))
        self.row = rows[:, :, 0]
        return self.score(rows).squeeze(2)

    def score(self, rows: Tensor) -> Tensor:
        """1 - D / |y| from rows of the table: [B, M, K, T + 1] -> [B, M, K]"""
        last = self.lengths[:, :, None, None].expand(-1, -1, rows.shape[2], 1)
        distances = rows.gather(3, last).squeeze(3)
        return 1 - distances / self.lengths.clamp(min=1).to(self.scores.dtype)[:, :, None]
