"""Several models as one: each reads what is written, and the mean of their distributions writes on.

Shapes: B batch, D_k features of model k.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor, nn

from bangbang.heads.combined_head import Average, CombinedHead
from bangbang.models.base import Generator


@dataclass(frozen=True)
class EnsembleState:
    """The states of all members."""

    members: tuple[Any, ...]

    @property
    def rows(self) -> int:
        return int(self.members[0].rows)

    @property
    def device(self) -> torch.device:
        found: torch.device = self.members[0].device
        return found

    def select(self, rows: Tensor) -> Self:
        return type(self)(tuple(state.select(rows) for state in self.members))


class Ensemble(Generator[EnsembleState]):
    """Models of one vocabulary; whatever decodes one model decodes them."""

    head: CombinedHead

    def __init__(self, members: Sequence[Generator[Any]], average: Average = "probabilities") -> None:
        super().__init__()
        self.members = nn.ModuleList(members)
        self.head = CombinedHead([member.head for member in members], average)

    def encode(self, source: Tensor, source_length: Tensor) -> EnsembleState:
        return EnsembleState(tuple(member.encode(source, source_length) for member in self.generators))

    def step(self, state: EnsembleState, tokens: Tensor) -> tuple[EnsembleState, Tensor]:
        pairs = zip(self.generators, state.members, strict=True)
        found = [member.step(own, tokens) for member, own in pairs]
        return EnsembleState(tuple(own for own, _ in found)), self.head.joined([features for _, features in found])

    @property
    def generators(self) -> list[Generator[Any]]:
        return list(self.members)  # type: ignore[arg-type]
