"""Rewards that correct the main one: DUP and EOS of the paper's section 4, and EOS's mirror.

B rows · M references per row · T reference positions · U candidate slots
They give no gains but penalties, which forbid tokens where W is infinite: the arg-max set compares penalties first.
Their value is the sum of what they paid so far.
"""

from abc import abstractmethod
from typing import Literal

import torch
from torch import Tensor

from bangbang.contracts import Increments
from bangbang.rewards.references import NOTHING, PerRow, References
from bangbang.rewards.state import BaseReward, State, checked_several
from bangbang.symbols import EOS, PAD


class Dup(BaseReward):
    """DUP_t = -1 if z_t = z_{t-1}, else 0.

    With `unless_in_reference`, a repeat that a reference has is free: -1 only if the pair (z_{t-1}, z_{t-1}) occurs in
    z so far as often as in the reference that has it most.

    Exact for every token; its one candidate is z_{t-1}.
    """

    def __init__(self, *, unless_in_reference: bool = False) -> None:
        self.unless_in_reference = unless_in_reference

    def begin(self, references: References) -> "DupState":
        zeros = torch.zeros_like(references.weights[:, 0], dtype=references.dtype)
        return DupState(zeros, references.vocabulary_size, references if self.unless_in_reference else None)


class DupState(State):
    def __init__(self, zeros: Tensor, vocabulary_size: int | None, references: References | None) -> None:
        super().__init__(torch.ones_like(zeros, dtype=torch.bool), vocabulary_size)
        self.paid = self.nothing = zeros  # [B]
        self.cost = zeros - 1  # [B]
        self.previous = torch.full_like(zeros, PAD, dtype=torch.long)  # [B], `<pad>` at first
        self.free = None if references is None else FreeRepeats(references)

    def penalty(self) -> Tensor:
        """What z_{t-1} would earn if it came again. [B]"""
        if self.t == 0:
            return self.nothing
        penalized = self.alive if self.free is None else self.alive & ~self.free.has(self.previous)
        return self.cost.where(penalized, 0)

    def increments(self) -> Increments:
        gains = self.nothing[:, None]
        return Increments(self.previous[:, None], gains, self.nothing, self.penalty()[:, None], self.nothing)

    def follow(self, tokens: Tensor) -> None:
        again = tokens == self.previous
        self.paid = self.paid + self.penalty().where(again, 0)
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
    def due(self, t: Tensor, lengths: Tensor) -> Tensor:
        """Whether z_t is to be penalized, by each reference's |y|."""


class Eos(LengthShaping):
    """EOS_t = -1 if z_t = `</s>` and t < |y|, else 0, where |y| counts its `</s>`. Exact for every token."""

    on_end = True

    def due(self, t: Tensor, lengths: Tensor) -> Tensor:
        return lengths > t


class Length(LengthShaping):
    """The mirror of EOS: -1 if z_t is not `</s>` and t ≥ |y|, else 0. Exact for every token.

    Without it an F1 reward keeps asking for missing words of y past its length, and outputs grow long.
    """

    on_end = False

    def due(self, t: Tensor, lengths: Tensor) -> Tensor:
        return lengths <= t


class LengthState(State):
    def __init__(self, reward: LengthShaping, references: References) -> None:
        super().__init__(torch.ones_like(references.lengths[:, 0], dtype=torch.bool), references.vocabulary_size)
        self.on_end, self.candidates = reward.on_end, references.candidates
        # after the longest reference nothing changes any more
        times = torch.arange(1, references.tokens.shape[2] + 2, device=references.lengths.device)
        due = reward.due(times, references.lengths[:, :, None])  # [B, M, T + 1]
        present = (references.weights > 0)[:, :, None]
        if reward.several == "best":
            self.penalties = -(due | ~present).all(1).to(references.dtype)  # [B, T + 1]
        else:  # by counts, so that equal shares of the references are equal to the bit
            self.penalties = -(due & present).sum(1).to(references.dtype) / present.sum(1)
        self.paid = self.nothing = torch.zeros_like(self.penalties[:, 0])  # [B]
        self.penalized = ((self.candidates == EOS) == self.on_end).to(references.dtype)  # [B, U]
        self.gains = torch.zeros_like(self.penalized)  # [B, U]

    def penalty(self) -> Tensor:
        """What a token that is penalized would earn now. [B]"""
        return self.penalties[:, min(self.t, self.penalties.shape[1] - 1)].where(self.alive, 0)

    def increments(self) -> Increments:
        penalty = self.penalty()
        rest_penalty = self.nothing if self.on_end else penalty
        return Increments(self.candidates, self.gains, self.nothing, self.penalized * penalty[:, None], rest_penalty)

    def follow(self, tokens: Tensor) -> None:
        penalized = tokens == EOS if self.on_end else tokens != EOS
        self.paid = self.paid + self.penalty().where(penalized, 0)

    def value(self) -> Tensor:
        return self.paid
