"""Word and character error rates.

B rows · M references per row · T reference positions · U candidate slots
"""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from bangbang.errors import InputError
from bangbang.rewards.character_errors import CharacterErrorState, Spelling
from bangbang.rewards.edit_row import edit_row
from bangbang.rewards.references import References
from bangbang.rewards.state import BaseReward, ScoredState, checked_several

FAR = 2**40  # longer than any distance


class EditDistance(BaseReward):
    """One minus the error rate: R(z | y) = 1 - D(z, y) / |y|, with D the Levenshtein distance.

    0 for the empty prefix, 1 for z = y, negative for outputs much longer than y.

    unit="word": D counts tokens, `</s>` included; `<unk>` matches nothing. Exact for every token: all tokens outside
    the references share `rest`.

    unit="character": D counts the characters of the text, tokens joined by `separator`, `</s>` being one character of
    its own and `<unk>` one that matches nothing; `texts[i]` is the text of token i. Exact for all candidates, the
    tokens of the references and `extra_candidates`. `rest` is exact for `<unk>` and for a token of one character that
    is in no reference, an upper bound for longer tokens without a character of the references, and a lower bound for
    tokens that share some and are of one character.
    """

    def __init__(
        self,
        unit: Literal["word", "character"] = "word",
        *,
        texts: Sequence[str] | None = None,
        separator: str = " ",
        extra_candidates: Sequence[int] = (),
        several: Literal["mean", "best"] = "mean",
    ) -> None:
        if unit not in ("word", "character"):
            raise InputError(f"unit must be 'word' or 'character', not {unit!r}")
        if unit == "character" and texts is None:
            raise InputError("EditDistance('character') needs texts, the text of every token of the vocabulary")
        self.unit = unit
        self.texts = texts
        self.separator = separator
        self.extra_candidates = tuple(extra_candidates)
        self.several = checked_several(several)

    def begin(self, references: References) -> ScoredState:
        if self.extra_candidates:
            references = references.including(self.extra_candidates)
        if self.texts is None or self.unit == "word":
            return WordErrorState(self.several, references)
        return CharacterErrorState(Spelling(self.texts, self.separator), self.several, references)


class WordErrorState(ScoredState):
    """Keeps the last row of the table D(z, y_{1:j}), j = 0 ... T."""

    def __init__(self, several: Literal["mean", "best"], references: References) -> None:
        super().__init__(references, several)
        rows, count, width = references.words.shape
        self.position = torch.arange(1, width + 1, device=self.scores.device).expand(rows, 1, -1)  # [B, 1, T]
        self.beyond = self.position > references.lengths[:, :, None]  # [B, M, T]
        self.row = torch.arange(width + 1, device=self.scores.device).expand(rows, count, -1)  # [B, M, T + 1]

    def next_scores(self) -> Tensor:
        # D(zv, y) = min over j of D(zv's last edit falls on y_j) + (|y| - j), where that edit is for j ≥ 1
        #   keeping v = y_j: D(z, y_{1:j-1});  replacing y_j: one more;  dropping v: D(z, y_{1:j}) + 1
        # and for j = 0 dropping v: t + 1
        kept = (self.row[:, :, :-1] - self.position).masked_fill(self.beyond, FAR)  # [B, M, T]
        dropped = (self.row[:, :, 1:] - self.position).masked_fill(self.beyond, FAR)
        other = torch.minimum(kept, dropped).amin(2, keepdim=True).clamp(max=self.t) + 1  # [B, M, 1]
        distances = other.repeat(1, 1, self.references.candidates.shape[1] + 1)  # [B, M, U + 1]
        distances = distances.scatter_reduce(2, self.references.slots, kept, "amin")
        distances[:, :, -1:] = other  # where `<unk>` and `<pad>` stand
        return self.score(distances + self.references.lengths[:, :, None], self.references.lengths[:, :, None])

    def follow_scores(self, tokens: Tensor) -> Tensor:
        self.row = edit_row(self.row, self.references.words != tokens[:, None, None])
        distances = self.row.gather(2, self.references.lengths[:, :, None]).squeeze(2)
        return self.score(distances, self.references.lengths)

    def score(self, distances: Tensor, lengths: Tensor) -> Tensor:
        return 1 - distances / lengths.clamp(min=1).to(self.scores.dtype)
