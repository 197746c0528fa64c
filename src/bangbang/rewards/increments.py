"""What is made of increments: the arg-max set, look-ups; and states of rewards written elsewhere.

B rows of a batch · K candidate slots · V vocabulary
"""

from typing import NamedTuple, Self, TypeVar

import torch
from torch import Tensor

from bangbang.contracts import CompletionState, Increments, PlainState, ReadingState, RewardState
from bangbang.errors import InputError
from bangbang.symbols import PAD


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

    def completions(self) -> Tensor:
        return completions(self.state)

    def select(self, rows: Tensor) -> Self:
        return type(self)(self.state.select(rows))


def adapted(state: PlainState) -> RewardState:
    """The state itself if it has all of the contract, else with the defaults of what it lacks."""
    return state if isinstance(state, RewardState) else Adapted(state)


def completions(state: PlainState) -> Tensor:
    """The tokens that begin a best completion [B, K]; an InputError if the reward does not know them."""
    if not isinstance(state, CompletionState):
        name = type(state).__name__.removesuffix("State")
        raise InputError(
            f"{name}: this reward does not know how a prefix is completed best; "
            'set reward.kind = "edit-distance", with reward.unit = "word"'
        )
    return state.completions()


def read(state: RewardState, tokens: Tensor) -> Tensor:
    """Append known tokens [B, T], `<pad>` after their ends: the loss weight earned before each of them [B, T]."""
    if isinstance(state, ReadingState):
        return state.read(tokens)
    shares = []
    for each in tokens.unbind(1):
        shares.append(state.loss_weight())
        state.advance(each)
    return torch.stack(shares, 1)


S = TypeVar("S", bound=PlainState)


def repeat(state: S, times: int) -> S:
    """Each row `times` times, next to one another: for J samples of one example."""
    value = state.value()
    return state.select(torch.arange(len(value), device=value.device).repeat_interleave(times))
