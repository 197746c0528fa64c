"""What a reward is: the contract between this package and whoever samples with it.

B rows of a batch · K candidate slots · V vocabulary
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self, TypeVar, runtime_checkable

import torch
from torch import Tensor

from bangbang.errors import InputError
from bangbang.symbols import PAD


class Increments(NamedTuple):
    """Δr(v) = R(z_{1:t-1} v | y) - R(z_{1:t-1} | y) for every token v: a gain, and a penalty where there is shaping.

    A row's candidates differ from one another: no token stands in two slots. Unused slots hold `<pad>` and what any
    other token would get; `<pad>` is never generated. Tokens of the same reward have values that are equal to the last
    bit, among candidates as against `rest`, so that ties are found by `==`.
    """

    tokens: Tensor  # [B, K] the candidates
    values: Tensor  # [B, K] what each would gain
    rest: Tensor  # [B] what any other token would gain
    penalties: Tensor | None = None  # [B, K] what shaping adds to each gain: 0 or less; None is 0 everywhere
    rest_penalty: Tensor | None = None  # [B] the same of any other token

    @property
    def total(self) -> "Increments":
        """Δr with gains and penalties in one number, as a finite W weighs it."""
        if self.penalties is None or self.rest_penalty is None:
            return self
        return Increments(self.tokens, self.values + self.penalties, self.rest + self.rest_penalty)


class Best(NamedTuple):
    """The arg-max set of Δr."""

    candidates: Tensor  # [B, K] whether each candidate is in it
    rest: Tensor  # [B] whether all other tokens are


def arg_max_set(increments: Increments) -> Best:
    """The tokens with the lightest penalty and, of these, with the largest gain.

    Penalties come first, so that what they fall on is forbidden whatever the scale of the gains.
    """
    tokens, values, rest, penalties, rest_penalty = increments
    if penalties is not None and rest_penalty is not None:
        lightest = torch.maximum(penalties.amax(1), rest_penalty)
        values = values.masked_fill(penalties < lightest[:, None], -torch.inf)
        rest = rest.masked_fill(rest_penalty < lightest, -torch.inf)
    top = torch.maximum(values.amax(1), rest)
    return Best((values == top[:, None]) & (tokens != PAD), rest == top)


def dense(increments: Increments, vocabulary_size: int) -> Tensor:
    """Δr of all tokens 0 ... V-1, written out: for tests and for people. [B, V]"""
    tokens, values, rest, *_ = increments.total
    if tokens.numel() and int(tokens.max()) >= vocabulary_size:
        raise InputError(f"candidate {int(tokens.max())} is outside a vocabulary of {vocabulary_size} tokens")
    return rest[:, None].repeat(1, vocabulary_size).scatter_(1, tokens, values)


def look_up(increments: Increments, tokens: Tensor) -> Tensor:
    """Δr of given tokens. [B, Q] -> [B, Q]"""
    candidates, values, rest, *_ = increments.total
    found, slot = (tokens[:, :, None] == candidates[:, None, :]).max(dim=2)  # [B, Q, K] -> [B, Q]
    return values.gather(1, slot).where(found, rest[:, None])


@dataclass(frozen=True)
class Bounds:
    """What a reward lies between: where it weighs the loss, `low` counts 0 and `high` counts 1."""

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise InputError(f"a reward's bounds must rise: {self.low} and {self.high} do not")

    def share(self, values: Tensor) -> Tensor:
        """(R - low) / (high - low), and 0 or 1 for what lies outside."""
        return ((values - self.low) / (self.high - self.low)).clamp(0, 1)


class PlainState(Protocol):
    """The least that a state of a reward written elsewhere must have: see `RewardState`."""

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


@runtime_checkable
class RewardState(PlainState, Protocol):
    """A batch of rewards underway: holds each row's prefix z_{1:t} implicitly.

    A row is finished once it was advanced with `</s>`: its increments are zero from then on, further tokens for it are
    ignored and its value stays.
    """

    def main_value(self) -> Tensor:
        """R(z_{1:t} | y) of the main reward, without its shaping, in its own scale: what is reported. [B]"""
        return self.value()

    def loss_weight(self) -> Tensor:
        """The main value as a share of its bounds, between 0 and 1: what weighs the loss. [B]"""
        return Bounds().share(self.main_value())


class Adapted(RewardState):
    """A state that has no main value of its own: its value is the main one, and lies between 0 and 1."""

    def __init__(self, state: PlainState) -> None:
        self.state = state

    def increments(self) -> Increments:
        return self.state.increments()

    def advance(self, tokens: Tensor) -> None:
        self.state.advance(tokens)

    def value(self) -> Tensor:
        return self.state.value()

    def select(self, rows: Tensor) -> Self:
        return type(self)(self.state.select(rows))


def adapted(state: PlainState) -> RewardState:
    """The state itself if it has all of the contract, else with the defaults of what it lacks."""
    return state if isinstance(state, RewardState) else Adapted(state)


class Reward(Protocol):
    """A reward R(z | y) that can be taken token by token."""

    def start(self, references: Tensor) -> PlainState:
        """The state of empty prefixes. `references` are token ids, [B, T] or, several per row, [B, M, T]."""
        ...


S = TypeVar("S", bound=PlainState)


def repeat(state: S, times: int) -> S:
    """Each row `times` times, next to one another: for J samples of one example."""
    value = state.value()
    return state.select(torch.arange(len(value), device=value.device).repeat_interleave(times))
