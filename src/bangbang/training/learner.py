"""A model and its objective as one module: what data-parallel training wraps and calls."""

from typing import TYPE_CHECKING, Any, Generic

import torch
from torch import Tensor, nn

from bangbang.models import Rollout, SequenceModel, State
from bangbang.objectives import Diagnostics, Objective, mle, scored_losses
from bangbang.symbols import EOS, PAD, UNK

if TYPE_CHECKING:
    from bangbang.data import Batch
    from bangbang.heads import VocabularyHead


class InputDecoder(Generic[State]):
    """A model's decoder for a batch of inputs, as objectives ask for it."""

    def __init__(self, model: SequenceModel[State], state: State) -> None:
        self.model, self.state = model, state

    @property
    def head(self) -> "VocabularyHead":
        return self.model.head

    def unroll(self, tokens: Tensor) -> Tensor:
        return self.model.unroll(self.state, tokens)

    def rollout(self, max_length: int) -> Rollout:
        return self.model.rollout(self.state, max_length)

    def repeat(self, times: int) -> "InputDecoder[State]":
        if times == 1:
            return self
        rows = torch.arange(len(self.state.hidden), device=self.state.hidden.device).repeat_interleave(times)
        return InputDecoder(self.model, self.state.select(rows))


class Learner(nn.Module):
    def __init__(self, model: SequenceModel[Any], objective: Objective) -> None:
        super().__init__()
        self.model, self.objective = model, objective

    def forward(self, batch: "Batch", step: int, generator: torch.Generator) -> tuple[Tensor, Diagnostics]:
        """The unreduced losses [N] of the positions that count, and what the targets were like."""
        rows = rewardable(batch.references) if self.objective.needs_reward else None
        if rows is not None and 0 < len(rows) < len(batch.target):
            batch = type(batch)(*(field[rows] for field in batch))
        several = self.objective.needs_reward and batch.references.shape[1] > 1
        decoder = InputDecoder(self.model, self.model.encode(batch.source, batch.source_length))
        if rows is not None and len(rows) == 0:
            proposal = mle(decoder, batch.target)
        else:
            references = batch.references if several else batch.target
            proposal = self.objective(decoder, references, step, generator)
        return scored_losses(self.model.head, proposal)


def rewardable(references: Tensor) -> Tensor:
    """The rows of [B, M, T] with a known word in a reference: for the others no output could earn a reward."""
    known = (references != PAD) & (references != UNK) & (references != EOS)
    return known.flatten(1).any(1).nonzero().squeeze(1)
