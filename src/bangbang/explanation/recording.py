"""A reward that remembers what it told the sampler."""

import copy
from typing import Self

import torch
from torch import Tensor

from bangbang.rewards import Increments, References, Sum, look_up


class Recording:
    """The state of a sum of rewards for one example, with all that it gave on the way."""

    def __init__(self, reward: Sum, references: Tensor) -> None:
        self.state = reward.begin(References.of(references))
        self.names = [type(part).__name__ for part in reward.parts]
        self.weights = reward.weights
        self.increments_at: list[Increments] = []
        """Before each token: the Δr of the candidates and of the rest."""
        self.parts_at: list[list[Increments]] = []
        """The same of each part of the sum, before its weight."""
        self.main_values: list[float] = []
        """After each token: R(z_{1:t} | y) of the main reward."""

    def increments(self) -> Increments:
        self.parts_at.append([on_cpu(part.increments()) for part in self.state.parts])
        given = self.state.increments()
        self.increments_at.append(on_cpu(given))
        return given

    def advance(self, tokens: Tensor) -> None:
        self.state.advance(tokens)
        self.main_values.append(float(self.main_value()))

    def value(self) -> Tensor:
        return self.state.value()

    def main_value(self) -> Tensor:
        return self.state.main_value()

    def loss_weight(self) -> Tensor:
        return self.state.loss_weight()

    def select(self, rows: Tensor) -> Self:
        """A state of these rows that writes on in the same record."""
        chosen = copy.copy(self)
        chosen.state = self.state.select(rows)
        return chosen

    def parts_of(self, t: int, token: int) -> dict[str, float]:
        """What each part gave for a token at step t, by the part's name; these add up to its Δr."""
        asked = torch.tensor([[token]])
        given = (float(look_up(each, asked)) for each in self.parts_at[t])
        return {name: weight * value for name, weight, value in zip(self.names, self.weights, given, strict=True)}


def on_cpu(increments: Increments) -> Increments:
    tokens, values, rest, *penalties = increments
    return Increments(
        tokens.cpu(), values.cpu(), rest.cpu(), *(None if part is None else part.cpu() for part in penalties)
    )
