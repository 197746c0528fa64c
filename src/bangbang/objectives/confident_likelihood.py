"""GOLD (Pang and He 2021), by the token: maximum likelihood that dwells on what the model already finds likely.

Learning from demonstrations off-policy weighs a reference's token by the model's own probability of it, so that tokens
which the model would never write count for little.
"""

import torch
from torch import Tensor

from bangbang.contracts import Decoder, Proposal
from bangbang.objectives.base import BaseObjective
from bangbang.objectives.likelihood import mle
from bangbang.objectives.settings import Gold


def gold(decoder: Decoder, references: Tensor, gamma: float) -> Proposal:
    """L(θ) = -Σ_t p(y_t | x, y_{1:t-1})^γ · log p(y_t | x, y_{1:t-1}), the weight without a gradient.

    γ = 0 is maximum likelihood. `references` y: [B, T], each ends in `</s>` and is padded.
    """
    proposal = mle(decoder, references)
    with torch.no_grad():
        weights = (gamma * decoder.head.log_prob(proposal.features, proposal.tokens)).exp()
    return proposal._replace(coefficients=weights.to(proposal.coefficients.dtype))


class ConfidentLikelihood(BaseObjective):
    settings: Gold

    def targets(self, decoder: Decoder, references: Tensor, step: int, generator: torch.Generator) -> Proposal:
        return gold(decoder, references, self.settings.gamma)
