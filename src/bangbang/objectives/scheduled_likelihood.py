"""Scheduled sampling (Bengio et al. 2015): maximum likelihood that reads some of the model's own tokens.

In training a model reads the reference, in decoding what it wrote itself. Here a coin chooses for each token which of
the two is read next. The target stays the reference.

Shapes: B examples, T time, D features.
"""

import torch
from torch import Tensor

from bangbang.contracts import Decoder, Diagnostics, Head, Proposal, Rollout
from bangbang.objectives.base import BaseObjective, propose_read, token_count
from bangbang.objectives.curriculum_settings import ScheduledSampling
from bangbang.objectives.likelihood import mle
from bangbang.symbols import BOS, PAD


def scheduled_sampling(decoder: Decoder, references: Tensor, p_model: float, generator: torch.Generator) -> Proposal:
    """L(θ) = -Σ_t log p(y_t | x, r_{1:t-1}): with probability p_model, r_t ~ p(r_t | x, r_{1:t-1}), else r_t = y_t.

    The gradient leaves out that r depends on θ, as the paper's does. p_model = 0 is maximum likelihood, by the very
    same pass. `references` y: [B, T], each ends in `</s>` and is padded; what is read goes no further.
    """
    if p_model == 0:
        return mle(decoder, references)
    coins, chances = torch.rand(2, *references.shape, generator=generator).to(references.device)
    rollout, tokens = decoder.rollout(references.shape[1]), token_count(references)
    read(rollout, decoder.head, references, coins < p_model, chances)
    return propose_read(rollout.features(), references, Diagnostics(len(references), tokens, tokens))


@torch.no_grad()
def read(rollout: Rollout, head: Head, references: Tensor, own: Tensor, uniform: Tensor) -> None:
    """Step over `<s>` and y, a token of the model's in place of y_t where `own` [B, T] is set, drawn at `uniform`."""
    features = rollout.step(torch.full_like(references[:, 0], BOS))
    goes_on = references[:, 1:] != PAD  # what is read after the last target teaches nothing
    for t in range(references.shape[1] - 1):
        tokens, rows = references[:, t], (own[:, t] & goes_on[:, t]).nonzero().squeeze(1)
        if len(rows):
            tokens = tokens.index_copy(0, rows, head.sample(features[rows], uniform[rows, t]))
        features = rollout.step(tokens)


class ScheduledLikelihood(BaseObjective):
    settings: ScheduledSampling

    def targets(self, decoder: Decoder, references: Tensor, step: int, generator: torch.Generator) -> Proposal:
        return scheduled_sampling(decoder, references, self.settings.p_model_at(step), generator)
