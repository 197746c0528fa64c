"""Maximum likelihood: the target is the reference."""

import torch
from torch import Tensor

from bangbang.contracts import Decoder, Diagnostics, Proposal
from bangbang.objectives.base import BaseObjective, propose_known, token_count
from bangbang.objectives.settings import Mle


def mle(decoder: Decoder, references: Tensor, smoothing: float = 0.0) -> Proposal:
    """Eq. 1: L(θ) = -Σ_t log p(y_t | x, y_{1:t-1}), for references y [B, T] that end in `</s>` and are padded.

    With a `smoothing` ε (Szegedy et al. 2016): L(θ) = -Σ_t [(1-ε) · log p(y_t) + ε/M Σ_v log p(v)], where v are the M
    tokens that can be generated.
    """
    tokens = token_count(references)
    proposal = propose_known(decoder, references, Diagnostics(len(references), tokens, tokens))
    return proposal._replace(smoothing=smoothing)


class MaximumLikelihood(BaseObjective):
    settings: Mle

    def targets(self, decoder: Decoder, references: Tensor, step: int, generator: torch.Generator) -> Proposal:
        return mle(decoder, references, self.settings.label_smoothing)
