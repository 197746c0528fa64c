"""Word and character error rates.

B rows · M references per row · T reference positions, or characters · U candidate slots · L characters of a token
"""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from bangbang.errors import InputError
from bangbang.rewards.references import References
from bangbang.rewards.spelling import NONE, UNKNOWN, Spelling, padded, possible
from bangbang.rewards.state import BaseReward, ScoredState, Several, checked_several
from bangbang.symbols import PAD, UNK

FAR = 2**40  # longer than any distance


class EditDistance(BaseReward):
    """One minus the error rate: R(z | y) = 1 - D(z, y) / |y|, with D the Levenshtein distance.

    0 for the empty prefix, 1 for z = y, negative for outputs that are far off and longer than y. As a weight of the
    loss a negative R counts 0.

    unit="word": D counts tokens, `</s>` included; `<unk>` matches nothing. Exact for every token: all tokens outside
    the references share `rest`.

    unit="character": D counts the characters of the text, tokens joined by `separator`, `</s>` being one character of
    its own and `<unk>` one that matches nothing; `texts[i]` is the text of token i. Exact for all candidates, the
    tokens of the references and `extra_candidates`. `rest` is exact for `<unk>` and for a token of one character that
    is in no reference, an upper bound for longer tokens without a character of the references, and a lower bound for
    tokens that share some and are of one character.

    Tokens may be pieces that begin or end inside a character, with such bytes written as by "surrogateescape". The
    bytes of a character that is not complete yet count as one character, equal to any that begins with them; bytes that
    turn out to be no character count one each. So this is exact too, and the first piece of a right character earns
    what the character is worth.
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
        self.separator = separator
        self.spelling = None if texts is None or unit == "word" else Spelling(texts, separator)
        self.extra_candidates = tuple(extra_candidates)
        self.several = checked_several(several)

    def begin(self, references: References) -> ScoredState:
        if self.extra_candidates:
            references = references.including(self.extra_candidates)
        if self.spelling is None:
            return WordErrorState(self.several, references)
        return CharacterErrorState(self.spelling, self.several, references)


def edit_row(row: Tensor, differs: Tensor) -> Tensor:
    """D(z v, y_{1:j}) for all j from D(z, y_{1:j}), given where y_j ≠ v: [..., T + 1], [..., T] -> [..., T + 1]

    D'(j) = min(D(j) + 1, D(j-1) + [y_j ≠ v], D'(j-1) + 1). The last of the three chains from left to right, which is
    a running minimum of D'(j) - j.
    """
    start = (row[..., :1] + 1).expand(*differs.shape[:-1], 1)
    without_insertion = torch.minimum(row[..., 1:] + 1, row[..., :-1] + differs)
    position = torch.arange(row.shape[-1], device=row.device)
    return (torch.cat([start, without_insertion], dim=-1) - position).cummin(-1).values + position


def without_repeats(tokens: Tensor) -> Tensor:
    """The different tokens of each row, then `<pad>`; slots that no row needs are left out. [B, S] -> [B, K]"""
    ordered = tokens.sort(1, descending=True).values  # `<pad>` is 0, and comes last
    again = torch.zeros_like(ordered, dtype=torch.bool)
    again[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
    kept = ordered.masked_fill(again, PAD).sort(1, descending=True).values
    return kept[:, : max(1, int((kept != PAD).sum(1).max()))]


class WordErrorState(ScoredState):
    """Keeps the last row of the table D(z, y_{1:j}), j = 0 ... T."""

    def __init__(self, several: Several, references: References) -> None:
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

    def completions(self) -> Tensor:
        """y_{j+1} for every j that minimises D(z, y_{1:j}) + (the `<unk>` of y after j, which nothing matches).

        What follows j in y then completes z best. Of several references, it is those that can be reached best.
        """
        unknown = (self.references.tokens == UNK).flip(2).cumsum(2).flip(2)
        costs = (self.row[:, :, :-1] + unknown).masked_fill(self.beyond, FAR)  # [B, M, T]
        least = costs.amin(2)
        rates = least / self.references.lengths.to(self.scores.dtype)  # an absent reference has a rate of inf
        reached = (rates == rates.amin(1, keepdim=True)) & self.alive[:, None]
        chosen = (costs == least[:, :, None]) & reached[:, :, None]
        return without_repeats(self.references.tokens.where(chosen, PAD).flatten(1))

    def score(self, distances: Tensor, lengths: Tensor) -> Tensor:
        return 1 - distances / lengths.clamp(min=1).to(self.scores.dtype)


class CharacterErrorState(ScoredState):
    """Keeps the last row of the table D(z's text, y's text up to character j), j = 0 ... T.

    It is that of complete characters; `left` are the bytes after these.
    """

    def __init__(self, spelling: Spelling, several: Several, references: References) -> None:
        super().__init__(references, several)
        self.spelling = spelling
        texts = [spelling.of_reference(tokens) for tokens in references.tokens.flatten(0, 1).tolist()]
        lengths = torch.tensor([len(text) for text in texts], device=self.scores.device)
        self.lengths = lengths.view(references.lengths.shape)  # [B, M]
        self.characters = padded(texts, UNKNOWN, self.scores.device).view(*self.lengths.shape, -1)  # [B, M, T]
        positions = torch.arange(self.characters.shape[2] + 1, device=self.scores.device)
        self.row = positions.expand(*self.lengths.shape, -1)  # [B, M, T + 1]
        self.left = [b""] * len(self.lengths)
        self.choices = torch.nn.functional.pad(references.candidates, (0, 1), value=UNK)  # [B, U + 1]
        self.usual: tuple[Tensor, Tensor] | None = None  # how these are written after a complete character

    def written(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """The characters that tokens complete, and the first and last that their last bytes may become.

        [B, K] -> [B, K, L], [B, K, 2]; NONE where there is none.
        """
        rows = zip(tokens.tolist(), self.left, strict=True)
        found = [self.spelling.of(token, left, self.t == 0) for row, left in rows for token in row]
        characters = padded([each.characters for each in found], NONE, tokens.device)
        begun = torch.tensor([possible(each.left) for each in found], device=tokens.device)
        return characters.view(*tokens.shape, -1), begun.view(*tokens.shape, 2)

    def written_choices(self) -> tuple[Tensor, Tensor]:
        if self.t == 0 or any(self.left):
            return self.written(self.choices)
        if self.usual is None:
            self.usual = self.written(self.choices)
        return self.usual

    def append(self, characters: Tensor) -> Tensor:
        """The rows of the table after the characters of several tokens: [B, K, L] -> [B, M, K, T + 1]"""
        rows = self.row[:, :, None].expand(-1, -1, characters.shape[1], -1)
        for each in characters.unbind(2):
            differs = self.characters[:, :, None] != each[:, None, :, None]
            rows = edit_row(rows, differs).where((each != NONE)[:, None, :, None], rows)
        return rows

    def next_scores(self) -> Tensor:
        characters, begun = self.written_choices()
        scores = self.score(self.append(characters), begun)
        return scores.where((self.choices != PAD)[:, None], scores[:, :, -1:])

    def follow_scores(self, tokens: Tensor) -> Tensor:
        characters, begun = self.written(tokens[:, None])
        rows = self.append(characters)
        pairs = zip(tokens.tolist(), self.left, strict=True)
        self.left = [self.spelling.of(token, left, self.t == 0).left for token, left in pairs]
        self.row = rows[:, :, 0]
        return self.score(rows, begun).squeeze(2)

    def score(self, rows: Tensor, begun: Tensor) -> Tensor:
        """1 - D / |y| from rows of the table and characters that are begun: [B, M, K, T + 1], [B, K, 2] -> [B, M, K]"""
        if bool((begun != NONE).any()):
            low, high = begun[:, None, :, :, None].unbind(3)  # [B, 1, K, 1]
            y = self.characters[:, :, None]
            rows = edit_row(rows, (y < low) | (y > high)).where(low != NONE, rows)
        last = self.lengths[:, :, None, None].expand(-1, -1, rows.shape[2], 1)
        distances = rows.gather(3, last).squeeze(3)
        return 1 - distances / self.lengths.clamp(min=1).to(self.scores.dtype)[:, :, None]
