"""Rewards that correct the main one: DUP and EOS of the paper's section 4, and EOS's mirror.

B rows · M references per row · T reference positions · U candidate slots
Their value is the sum of what they paid so far.
"""

from abc import abstractmethod
from typing import Literal

import torch
from torch import Tensor

from bangbang.errors import InputError
from bangbang.rewards.increments import Increments
from bangbang.rewards.references import NOTHING, References
from bangbang.rewards.rows import PerRow
from bangbang.rewards.state import BaseReward, State, checked_several, combine
from bangbang.symbols import EOS, PAD


class Dup(BaseReward):
    """DUP_t = -1 if z_t = z_{t-1}, else 0.

    With `unless_in_reference`, a repeat that a reference has is free: -1 only if the pair (z_{t-1}, z_{t-1}) occurs in
    z so far as often as in the reference that has it most. Without it, no reference is needed.

    Exact for every token; its one candidate is z_{t-1}.
    """

    def __init__(self, *, unless_in_reference: bool = False) -> None:
        self.unless_in_reference = unless_in_reference

    def begin(self, references: References) -> "DupState":
        zeros = torch.zeros_like(references.weights[:, 0], dtype=references.dtype)
        return DupState(zeros, references.vocabulary_size, references if self.unless_in_reference else None)

    def start_without_references(self, rows: int, device: torch.device | str = "cpu") -> "DupState":
        if self.unless_in_reference:
            raise InputError("Dup(unless_in_reference=True) needs references")
        return DupState(torch.zeros(rows, device=device), None, None)


class DupState(State):
    def __init__(self, zeros: Tensor, vocabulary_size: int | None, references: References | None) -> None:
        super().__init__(torch.ones_like(zeros, dtype=torch.bool), vocabulary_size)
        self.paid = zeros  # [B]
        self.previous = torch.full_like(zeros, PAD, dtype=torch.long)  # [B], `<pad>` at first
        self.free = None if references is None else FreeRepeats(references)

    def penalty(self) -> Tensor:
        """What z_{t-1} would earn if it came again. [B]"""
        if self.t == 0:
            return torch.zeros_like(self.paid)
        penalized = self.alive if self.free is None else self.alive & ~self.free.has(self.previous)
        return -penalized.to(self.paid.dtype)

    def increments(self) -> Increments:
        return Increments(self.previous[:, None], self.penalty()[:, None], torch.zeros_like(self.paid))

    def follow(self, tokens: Tensor) -> None:
        again = tokens == self.previous
        self.paid = self.paid + self.penalty() * again
        if self.free is not None:
            self.free.spend(tokens, again)
        self.previous = tokens

    def value(self) -> Tensor:
        return self.paid


class FreeRepeats(PerRow):
    """The immediate repeats of the references that z has not used yet."""

    def __init__(self, references: References) -> None:
        second = references.words.clone()
        second[:, :, 0] = NOTHING
        second[:, :, 1:].masked_fill_(references.words[:, :, 1:] != references.words[:, :, :-1], NOTHING)
        self.words = second.flatten(1)  # [B, M * T]: the second word of each repeat, NOTHING elsewhere
        same = self.words[:, :, None, None] == second[:, None]  # [B, M * T, M, T]
        self.left = same.sum(3).amax(2)  # [B, M * T]: how often the reference that has it most has it

    def has(self, words: Tensor) -> Tensor:
        """Whether repeating these is free. [B] -> [B]"""
        return ((self.words == words[:, None]) & (self.left > 0)).any(1)

    def spend(self, words: Tensor, repeated: Tensor) -> None:
        self.left = self.left - ((self.words == words[:, None]) & repeated[:, None]).int()


class LengthShaping(BaseReward):
    """A penalty of 1 on `</s>`, or on every other token, at times that depend on |y|."""

    on_end: bool  # whether it falls on `</s>`

    def __init__(self, *, several: Literal["mean", "best"] = "mean") -> None:
        """`several`: the mean of the penalties by several references' lengths, or the mildest."""
        self.several = checked_several(several)

    def begin(self, references: References) -> "LengthState":
        return LengthState(self, references)

    @abstractmethod
    def due(self, t: int, lengths: Tensor) -> Tensor:
        """Whether z_t is to be penalized, by each reference's |y|. [B, M]"""


class Eos(LengthShaping):
    """EOS_t = -1 if z_t = `</s>` and t < |y|, else 0, where |y| counts its `</s>`. Exact for every token."""

    on_end = True

    def due(self, t: int, lengths: Tensor) -> Tensor:
        return lengths > t


class Length(LengthShaping):
    """The mirror of EOS: -1 if z_t is not `</s>` and t ≥ |y|, else 0. Exact for every token.

    Without it an F1 reward keeps asking for missing words of y past its length, and outputs grow long.
    """

    on_end = False

    def due(self, t: int, lengths: Tensor) -> Tensor:
        return lengths <= t


class LengthState(State):
    def __init__(self, reward: LengthShaping, references: References) -> None:
        super().__init__(torch.ones_like(references.lengths[:, 0], dtype=torch.bool), references.vocabulary_size)
        self.reward = reward
        self.references = references
        self.weights = references.weights.to(references.dtype)  # [B, M]
        self.paid = torch.zeros_like(self.weights[:, 0])  # [B]
        self.penalized = (references.candidates == EOS) == reward.on_end  # [B, U]

    def penalty(self) -> Tensor:
        """What a token that is penalized would earn now. [B]"""
        due = self.reward.due(self.t + 1, self.references.lengths) & self.alive[:, None]
        return combine(-due.to(self.paid.dtype), self.weights, self.reward.several)

    def increments(self) -> Increments:
        penalty = self.penalty()
        rest = torch.zeros_like(penalty) if self.reward.on_end else penalty
        return Increments(self.references.candidates, self.penalized * penalty[:, None], rest)

    def follow(self, tokens: Tensor) -> None:
        self.paid = self.paid + self.penalty() * ((tokens == EOS) == self.reward.on_end)

    def value(self) -> Tensor:
        return self.paid
