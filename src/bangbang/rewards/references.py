"""References as tensors: checked once, with what every reward needs of them.

B rows · M references per row · T reference positions · U candidate slots
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor

from bangbang.errors import InputError
from bangbang.precision import widest_float
from bangbang.symbols import BOS, EOS, PAD, UNK

NOTHING = -1  # stands where a reference has no token that could be matched: `<pad>` and `<unk>`


class PerRow:
    """Something whose attributes hold one entry per row of the batch.

    Tensors, lists and other `PerRow`s follow `select`, also inside tuples; everything else is shared. Attributes are
    replaced, never changed in place, so that copies can share them.
    """

    def select(self, rows: Tensor) -> Self:
        """A new, independent copy of the given rows: indices, which may repeat, or a mask."""
        chosen: Self = select_rows(self, rows.nonzero().squeeze(1) if rows.dtype == torch.bool else rows, {})
        return chosen


def select_rows(thing: Any, rows: Tensor, done: dict[int, tuple[Any, Any]]) -> Any:
    """A copy of `thing` with the given rows of all that is per row in it.

    What was one object before is one object after, as with `copy.deepcopy`: `Sum` relies on it to see at a glance that
    its parts have the same candidates. `done` holds the originals too, so that their ids stay theirs.
    """
    if id(thing) in done:
        return done[id(thing)][1]
    if isinstance(thing, Tensor):
        result: Any = thing[rows]
    elif isinstance(thing, list):
        result = [thing[row] for row in rows.tolist()]
    elif isinstance(thing, tuple):
        result = tuple(select_rows(part, rows, done) for part in thing)
    elif isinstance(thing, PerRow):
        result = copy.copy(thing)
        for name, part in vars(thing).items():
            object.__setattr__(result, name, select_rows(part, rows, done))
    elif hasattr(thing, "select"):  # the state of a reward written elsewhere
        result = thing.select(rows)
    else:
        result = thing
    done[id(thing)] = (thing, result)
    return result


@dataclass(frozen=True)
class References(PerRow):
    """The references of a batch and their distinct tokens, the candidates."""

    tokens: Tensor  # [B, M, T] as given
    words: Tensor  # [B, M, T] the same with NOTHING for what never matches
    lengths: Tensor  # [B, M] |y|, `</s>` included; 0 for an absent reference
    weights: Tensor  # [B, M] what each counts for in the mean: 1 / number of references, or 0
    candidates: Tensor  # [B, U] the distinct tokens but `<unk>`, then `<pad>`
    slots: Tensor  # [B, M, T] where each position's token stands among the candidates, U for NOTHING
    dtype: torch.dtype  # of rewards; `weights` are in the precision that rewards are computed in
    vocabulary_size: int | None = None

    @classmethod
    def of(
        cls,
        references: Tensor,
        *,
        dtype: torch.dtype = torch.float32,
        vocabulary_size: int | None = None,
        max_length: int | None = None,
    ) -> "References":
        """Check and prepare token ids [B, T] or [B, M, T]; `dtype` is that of all rewards computed from them."""
        if not dtype.is_floating_point:
            raise InputError(f"rewards are of a floating-point dtype, not {dtype}")
        tokens = checked(references, vocabulary_size, max_length)
        words = tokens.masked_fill((tokens == PAD) | (tokens == UNK), NOTHING)
        lengths = (tokens != PAD).sum(2)
        present = (lengths > 0).to(widest_float(tokens.device))
        weights = present / present.sum(1, keepdim=True)
        candidates, slots = distinct(words.flatten(1))
        return cls(tokens, words, lengths, weights, candidates, slots.view_as(tokens), dtype, vocabulary_size)

    def including(self, extra: Sequence[int]) -> "References":
        """The same references with more candidates."""
        if min(extra) < 0 or PAD in extra or BOS in extra:
            raise InputError(f"extra candidates must be tokens that can be generated, not {tuple(extra)}")
        rows = self.words.shape[0]
        more = torch.tensor(extra, dtype=torch.long, device=self.words.device).expand(rows, -1)
        candidates, slots = distinct(torch.cat([self.words.flatten(1), more], dim=1))
        return replace(self, candidates=candidates, slots=slots[:, : self.words[0].numel()].view_as(self.words))


def distinct(words: Tensor) -> tuple[Tensor, Tensor]:
    """The distinct tokens of each row, padded, and the slot of each position: [B, S] -> [B, U], [B, S]."""
    ordered, order = words.masked_fill(words == NOTHING, torch.iinfo(torch.long).max).sort(dim=1)
    first = torch.ones_like(ordered, dtype=torch.bool)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    real = ordered != torch.iinfo(torch.long).max
    width = int((first & real).sum(1).max()) if len(words) else 0
    slot = (first.cumsum(1) - 1).masked_fill(~real, width)
    candidates = torch.full((len(words), width + 1), PAD, device=words.device)
    candidates.scatter_(1, slot, ordered.where(real, torch.full_like(ordered, PAD)))
    return candidates[:, :width].contiguous(), torch.empty_like(slot).scatter_(1, order, slot)


def checked(references: Tensor, vocabulary_size: int | None, max_length: int | None) -> Tensor:
    """The references as [B, M, T], or an error that names the first row that is wrong."""
    if not isinstance(references, Tensor):
        raise InputError(f"references must be a tensor of token ids, not {type(references).__name__}")
    if references.dtype != torch.long:
        raise InputError(f"references must be token ids of dtype torch.int64, not {references.dtype}")
    if references.ndim not in (2, 3):
        raise InputError(f"references must be [batch, time] or [batch, several, time], not {list(references.shape)}")
    tokens = references if references.ndim == 3 else references[:, None]
    if 0 in tokens.shape[1:]:
        raise InputError(f"references of shape {list(references.shape)} hold no tokens")
    for wrong, message in faults(tokens, vocabulary_size, max_length):
        if bool(wrong.any()):
            raise InputError(f"{place(wrong, references.ndim)} {message}")
    return tokens


def faults(tokens: Tensor, vocabulary_size: int | None, max_length: int | None) -> list[tuple[Tensor, str]]:
    """What may be wrong with references [B, M, T]: masks over rows or over references, and what to say of them."""
    absent = (tokens == PAD).all(2)
    lengths = (tokens != PAD).sum(2)
    ends = tokens.gather(2, (lengths - 1).clamp(min=0)[:, :, None]).squeeze(2)  # [B, M]
    known = ((tokens != PAD) & (tokens != UNK) & (tokens != EOS)).any(2)
    limit = torch.iinfo(torch.long).max if vocabulary_size is None else vocabulary_size
    return [
        ((tokens < 0).any(2), "has a negative token id"),
        ((tokens >= limit).any(2), f"has a token id outside the vocabulary of {vocabulary_size}"),
        (absent.all(1), "is empty: it has no reference at all"),
        ((ends != EOS) & ~absent, f"does not end with </s> ({EOS}) followed only by <pad> ({PAD})"),
        ((tokens == EOS).sum(2) > 1, f"has more than one </s> ({EOS})"),
        ((tokens == BOS).any(2), f"contains <s> ({BOS}), which rewards add themselves"),
        ((lengths == 1).any(1) & ~(lengths > 1).any(1), "is empty: nothing stands before </s>"),
        (~known.any(1), f"has no known word: every token before </s> is <unk> ({UNK})"),
        (lengths > (max_length or tokens.shape[2]), f"is longer than {max_length} tokens"),
    ]


def place(wrong: Tensor, rank: int) -> str:
    first = [int(index) for index in wrong.nonzero()[0]]
    return f"reference {first[0]}" if rank == 2 or len(first) == 1 else f"reference {first[1]} of row {first[0]}"
