"""Sums of rewards: Δr = main + DUP + EOS, as in the paper's section 4.

B rows · K candidate slots
"""

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import NamedTuple

import torch
from torch import Tensor

from bangbang.contracts import Increments, Reward, RewardState
from bangbang.errors import InputError
from bangbang.rewards.increments import adapted, completions
from bangbang.rewards.references import PerRow, References
from bangbang.rewards.state import BaseReward, State
from bangbang.symbols import PAD


class Sum(BaseReward):
    """R(z | y) = Σ_i w_i R_i(z | y), exact where its parts are. The first part is the main reward.

    Its candidates are those of all parts, each with the sum of what the parts give it. The main reward's value, before
    its weight in the sum, is the main value of the sum, and weighs the loss as it would by itself.
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
            part.begin(references) if isinstance(part, BaseReward) else adapted(part.start(references.tokens))
            for part in self.parts
        )
        return SumState(tuple(states), self.weights)


class SumState(PerRow):
    def __init__(self, parts: tuple[RewardState, ...], weights: tuple[float, ...]) -> None:
        self.parts = parts
        self.weights = weights

    def increments(self) -> Increments:
        pairs = zip(self.parts, self.weights, strict=True)
        tables = same_candidates(Table.of(part.increments(), weight) for part, weight in pairs)
        return reduce(merge, tables).increments()

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

    def completions(self) -> Tensor:
        """Those of the main reward: shaping tells apart what leads on, not what is reached."""
        return completions(self.parts[0])

    def main_value(self) -> Tensor:
        return self.parts[0].main_value()

    def loss_weight(self) -> Tensor:
        return self.parts[0].loss_weight()


class Table(NamedTuple):
    """Increments with gains and penalties stacked, in this order, so that both are added at once."""

    tokens: Tensor  # [B, K]
    numbers: Tensor  # [2, B, K]
    rest: Tensor  # [2, B]

    @classmethod
    def of(cls, increments: Increments, weight: float) -> "Table":
        tokens, values, rest, penalties, rest_penalty = increments
        if penalties is None or rest_penalty is None:
            penalties, rest_penalty = torch.zeros_like(values), torch.zeros_like(rest)
        numbers, rests = torch.stack((values, penalties)), torch.stack((rest, rest_penalty))
        return cls(tokens, numbers, rests) if weight == 1.0 else cls(tokens, weight * numbers, weight * rests)

    def increments(self) -> Increments:
        (values, penalties), (rest, rest_penalty) = self.numbers, self.rest
        return Increments(self.tokens, values, rest, penalties, rest_penalty)


def same_candidates(parts: Iterable[Table]) -> list[Table]:
    """Parts whose candidates are one tensor, added up: most rewards share those of their references."""
    groups: dict[int, Table] = {}
    for part in parts:
        group = groups.get(id(part.tokens))
        if group is not None:
            part = Table(part.tokens, group.numbers + part.numbers, group.rest + part.rest)
        groups[id(part.tokens)] = part
    return list(groups.values())


def merge(one: Table, other: Table) -> Table:
    """The sum over the union of two candidate sets. O(K₁·K₂), and K₂ is 1 for Dup."""
    same = one.tokens[:, :, None] == other.tokens[:, None, :]  # [B, K₁, K₂]
    found, slot = same.max(2)  # [B, K₁]: where each of one's candidates stands among the other's
    known = same.any(1)  # [B, K₂]: these have their slot already
    of_other = other.numbers.gather(2, slot.expand_as(one.numbers)).where(found, other.rest[:, :, None])
    rest = one.rest + other.rest
    more = (one.rest[:, :, None] + other.numbers).where(~known, rest[:, :, None])
    return Table(
        torch.cat([one.tokens, other.tokens.masked_fill(known, PAD)], dim=1),
        torch.cat([one.numbers + of_other, more], dim=2),
        rest,
    )
