"""The expected exact match itself: the one reward whose policy gradient needs no samples.

Shapes: B batch, T time, N positions before the padding.
"""

import torch
from torch import Tensor

from bangbang.contracts import Decoder, Proposal
from bangbang.heads import at_temperature
from bangbang.objectives.base import BaseObjective
from bangbang.objectives.likelihood import mle
from bangbang.objectives.settings import ExpectedMatch
from bangbang.symbols import PAD


def expected_match(decoder: Decoder, references: Tensor, temperature: float = 1.0) -> Proposal:
    """L(θ) = -1/B Σ_b p_T(y_b | x_b), by its gradient -1/B Σ_b p_T(y_b | x_b) ∇ log p_T(y_b | x_b).

    E_z[1(z = y)] = p_T(y): of all sequences y alone earns something. So this is the expectation of the policy gradient
    on the exact match, and of RLOO, over all samples z of softmax(logits / T), at the cost of maximum likelihood.
    Here y [B, T'] ends in `</s>` and is padded.
    """
    proposal = mle(decoder, references)
    rows = (references.t() != PAD).nonzero()[:, 1]  # [N] the example of each position
    with torch.no_grad():
        log_p = at_temperature(decoder.head, temperature).log_prob(proposal.features, proposal.tokens)
        match = log_p.new_zeros(len(references)).index_add_(0, rows, log_p).exp()  # [B]
    return proposal._replace(
        coefficients=match[rows].to(proposal.coefficients.dtype),
        divisor=float(len(references)),
        temperature=temperature,
        diagnostics=proposal.diagnostics._replace(reward=float(match.sum()), rewarded=len(references)),
    )


class ExpectedMatchObjective(BaseObjective):
    settings: ExpectedMatch

    def targets(self, decoder: Decoder, references: Tensor, step: int, generator: torch.Generator) -> Proposal:
        return expected_match(decoder, references, self.settings.temperature)
