"""What objectives share: which rows of a batch can teach, and what the sum of the losses is divided by."""

from typing import Any

import torch
from torch import Tensor

from bangbang.contracts import Batch, Decoder, Diagnostics, Model, Proposal
from bangbang.objectives.settings import ObjectiveSettings
from bangbang.symbols import BOS, EOS, PAD, UNK


class BaseObjective:
    """An objective that defines `targets`."""

    def __init__(self, settings: ObjectiveSettings, max_length: int) -> None:
        self.settings, self.max_length = settings, max_length

    def propose(self, model: Model[Any], batch: Batch, step: int, generator: torch.Generator) -> Proposal:
        decoder = model.begin(batch.source, batch.source_length)
        return self.normalized(self.targets(decoder, batch.target, step, generator))

    def targets(self, decoder: Decoder, references: Tensor, step: int, generator: torch.Generator) -> Proposal:
        """Targets for references [B, T], or [B, M, T] where the reward is to know several.

        Each reference ends in `</s>` and is padded.
        """
        raise NotImplementedError

    def normalized(self, proposal: Proposal) -> Proposal:
        """The proposal with what its losses are divided by."""
        sequences = proposal.diagnostics.samples
        counts = {"sequences": sequences, "constant": sequences * self.max_length}
        return proposal._replace(divisor=counts.get(self.settings.normalizer, len(proposal.tokens)))


class RewardedObjective(BaseObjective):
    """An objective by reward: rows on which no output could earn any are left out."""

    def propose(self, model: Model[Any], batch: Batch, step: int, generator: torch.Generator) -> Proposal:
        rows = rewardable(batch.references)
        if len(rows) == 0:
            return nothing(model, batch)
        if len(rows) < len(batch.target):
            batch = Batch(*(field[rows] for field in batch))
        references = batch.references if batch.references.shape[1] > 1 else batch.target
        decoder = model.begin(batch.source, batch.source_length)
        return self.normalized(self.targets(decoder, references, step, generator))


def rewardable(references: Tensor) -> Tensor:
    """The rows of [B, M, T] with a known word in a reference: for the others no output could earn a reward."""
    known = (references != PAD) & (references != UNK) & (references != EOS)
    return known.flatten(1).any(1).nonzero().squeeze(1)


def nothing(model: Model[Any], batch: Batch) -> Proposal:
    """No position at all. The graph still reaches every weight, as data-parallel training asks for."""
    decoder = model.begin(batch.source[:1], batch.source_length[:1])
    features = decoder.unroll(torch.full_like(batch.target[:1, :1], BOS)).flatten(0, 1)[:0]
    tokens = batch.target.new_empty(0)
    return Proposal(tokens, features, features.new_empty(0), Diagnostics(0, 0, 0), 0)
