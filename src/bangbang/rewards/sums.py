"""Sums of rewards: Δr = main + DUP + EOS, as in the paper's section 4.

B rows · K candidate slots
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from bangbang.errors import InputError
from bangbang.rewards.increments import Increments, look_up
from bangbang.rewards.protocol import Reward, RewardState
from bangbang.rewards.references import References
from bangbang.rewards.rows import PerRow
from bangbang.rewards.state import BaseReward, State
from bangbang.symbols import PAD


class Sum(BaseReward):
    """R(z | y) = Σ_i w_i R_i(z | y), exact where its parts are.

    Its candidates are those of all parts, each with the sum of what the parts give it.
    """

    def __init__(self, *parts: Reward, weights: Sequence[float] | None = None) -> None:
        if not parts:
            raise InputError("a sum of no rewards; give at least one")
        if weights is not None and len(weights) != len(parts):
            raise InputError(f"{len(weights)} weights for {len(parts)} rewards")
        self.parts = parts
        self.weights = tuple(map(float, weights)) if weights is not None else (1.0,) * len(parts)

    def begin(self, references: References) -> "SumState":
        states = (
            part.begin(references) if isinstance(part, BaseReward) else part.start(references.tokens)
            for part in self.parts
        )
        return SumState(tuple(states), self.weights)

    def start_without_references(self, rows: int, device: torch.device | str = "cpu") -> "SumState":
        for part in self.parts:
            if not isinstance(part, BaseReward):
                raise InputError(f"{type(part).__name__} needs references")
        states = (part.start_without_references(rows, device) for part in self.parts if isinstance(part, BaseReward))
        return SumState(tuple(states), self.weights)


class SumState(PerRow):
    def __init__(self, parts: tuple[RewardState, ...], weights: tuple[float, ...]) -> None:
        self.parts = parts
        self.weights = weights

    def increments(self) -> Increments:
        total, *groups = same_candidates(
            [scaled(part.increments(), weight) for part, weight in zip(self.parts, self.weights, strict=True)]
        )
        for group in groups:
            total = merge(total, group)
        return total

    def advance(self, tokens: Tensor) -> None:
        checked = False
        for part in self.parts:
            if isinstance(part, State) and checked:
                part.proceed(tokens)
            else:
                part.advance(tokens)
                checked = checked or isinstance(part, State)

    def value(self) -> Tensor:
        first, *others = (weight * part.value() for part, weight in zip(self.parts, self.weights, strict=True))
        return sum(others, start=first)


def scaled(increments: Increments, weight: float) -> Increments:
    if weight == 1.0:
        return increments
    return Increments(increments.tokens, weight * increments.values, weight * increments.rest)


def same_candidates(parts: Sequence[Increments]) -> list[Increments]:
    """Parts whose candidates are one tensor, added up: most rewards share those of their references."""
    groups: dict[int, Increments] = {}
    for part in parts:
        group = groups.get(id(part.tokens))
        if group is not None:
            part = Increments(part.tokens, group.values + part.values, group.rest + part.rest)
        groups[id(part.tokens)] = part
    return list(groups.values())


def merge(one: Increments, other: Increments) -> Increments:
    """The sum over the union of two candidate sets. O(K₁·K₂), and K₂ is 1 for Dup."""
    if other.tokens.shape[1] == 1:
        same = one.tokens == other.tokens  # [B, K₁]
        of_other = other.values.where(same, other.rest[:, None])
        known = same.any(1, keepdim=True)
    else:
        of_other = look_up(other, one.tokens)
        known = (other.tokens[:, :, None] == one.tokens[:, None, :]).any(2)  # [B, K₂]: these have their slot already
    rest = one.rest + other.rest
    more = (one.rest[:, None] + other.values).where(~known, rest[:, None])
    return Increments(
        torch.cat([one.tokens, other.tokens.masked_fill(known, PAD)], dim=1),
        torch.cat([one.values + of_other, more], dim=1),
        rest,
    )
