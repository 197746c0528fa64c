"""Self-critical sequence training (Rennie et al. 2017): the model's own greedy output is the baseline.

Shapes: B examples, J samples of each, T time.
"""

from typing import Any

import torch
from torch import Tensor

from bangbang.contracts import Batch, Decoder, Model, Proposal
from bangbang.objectives.base import rewarded_references
from bangbang.objectives.policy_gradients import diagnose, model_samples, read_by
from bangbang.objectives.regularization import Anchor, RegularizedObjective, propose_weighed
from bangbang.objectives.settings import Scst
from bangbang.rewards import Reward


def scst(
    decoder: Decoder,
    reward: Reward,
    references: Tensor,
    greedy: Tensor,
    max_length: int,
    samples: int,
    generator: torch.Generator,
    anchor: Anchor | None = None,
) -> Proposal:
    """-Σ_j (R(z_j) - R(ẑ)) Σ_t ∂/∂θ log p(z_{j,t} | x, z_{j,1:t-1}), z_j ~ p(z | x), ẑ = `greedy` [B, T].

    ẑ does not depend on z_j, so R(ẑ) changes the variance alone. Samples that earn what ẑ does are left out.
    """
    rollout, sample = model_samples(decoder, reward, references, max_length, samples, generator)
    baseline = read_by(reward, references, greedy).loss_weight().float().repeat_interleave(samples)
    advantages = (sample.shares - baseline).unsqueeze(1)  # [B·J, 1]
    diagnostics = diagnose(sample, references, 0.0, advantages)
    return propose_weighed(rollout, decoder.head, sample, advantages, diagnostics, anchor)


class SelfCritical(RegularizedObjective):
    settings: Scst

    def rewarded(self, model: Model[Any], batch: Batch, step: int, generator: torch.Generator) -> Proposal:
        greedy = model.greedy(batch.source, batch.source_length, self.max_length)
        decoder, references = self.policy(model, batch), rewarded_references(batch)
        drawn = self.max_length, self.settings.samples
        proposal = scst(decoder, self.reward, references, greedy, *drawn, generator, self.anchor(batch))
        return self.regularized(proposal, decoder, batch)
