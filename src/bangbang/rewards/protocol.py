"""What a reward is: the contract between this package and whoever samples with it."""

from typing import Protocol, Self, TypeVar

import torch
from torch import Tensor

from bangbang.rewards.increments import Increments


class RewardState(Protocol):
    """A batch of rewards underway: holds each row's prefix z_{1:t} implicitly.

    A row is finished once it was advanced with `</s>`: its increments are zero from then on, further tokens for it are
    ignored and its value stays.
    """

    def increments(self) -> Increments:
        """What each possible next token would add, exactly."""
        ...

    def advance(self, tokens: Tensor) -> None:
        """Append the chosen tokens z_t [B]."""
        ...

    def value(self) -> Tensor:
        """R(z_{1:t} | y), which is 0 for the empty prefix. [B]"""
        ...

    def select(self, rows: Tensor) -> Self:
        """A new, independent state of the given rows: indices, which may repeat, or a mask."""
        ...


class Reward(Protocol):
    """A reward R(z | y) that can be taken token by token."""

    def start(self, references: Tensor) -> RewardState:
        """The state of empty prefixes. `references` are token ids, [B, T] or, several per row, [B, M, T]."""
        ...


S = TypeVar("S", bound=RewardState)


def repeat(state: S, times: int) -> S:
    """Each row `times` times, next to one another: for J samples of one example."""
    value = state.value()
    return state.select(torch.arange(len(value), device=value.device).repeat_interleave(times))
