"""Maximum likelihood: the target is the reference."""

import torch
from torch import Tensor

from bangbang.contracts import Decoder, Diagnostics, Proposal
from bangbang.objectives.base import BaseObjective, propose_known, token_count


def mle(decoder: Decoder, references: Tensor) -> Proposal:
    """Eq. 1: L(θ) = -Σ_t log p(y_t | x, y_{1:t-1}), for references y [B, T] that end in `</s>` and are padded."""
    tokens = token_count(references)
    return propose_known(decoder, references, Diagnostics(len(references), tokens, tokens))


class MaximumLikelihood(BaseObjective):
    def targets(self, decoder: Decoder, references: Tensor, step: int, generator: torch.Generator) -> Proposal:
        return mle(decoder, references)
