"""A model and its objective as one module: what data-parallel training wraps and calls."""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from bangbang.contracts import Batch, Diagnostics, Model, Objective
from bangbang.objectives import scored_losses


class Loss(NamedTuple):
    losses: Tensor  # [N] of the positions that count, not yet reduced
    divisor: float
    """What their sum is divided by, here and now; processes add theirs up."""
    diagnostics: Diagnostics


class Learner(nn.Module):
    def __init__(self, model: Model[Any], objective: Objective) -> None:
        super().__init__()
        self.model, self.objective = model, objective

    def forward(self, batch: Batch, step: int, generator: torch.Generator) -> Loss:
        proposal = self.objective.propose(self.model, batch, step, generator)
        losses, diagnostics = scored_losses(self.model.head, proposal)
        return Loss(losses, len(losses) if proposal.divisor is None else proposal.divisor, diagnostics)
