"""REINFORCE leave-one-out (Kool et al. 2019, Ahmadian et al. 2024): J samples, each weighed against the others.

By the sequence, every token of z_j has the weight A_j = R_j - 1/(J-1) Σ_{k≠j} R_k. By the token it has

    A_{j,t} = G_{j,t} - 1/(J-1) Σ_{k≠j} G_{k,t}        G_{j,t} = R(z_j) - R(z_{j,1:t-1})

where G is what a sample still earns from t on, which is 0 once it has ended. Both have the gradient of E[R] as their
expectation. Given its prefix, E[∂log p(z_{j,t})] = Σ_v ∂p(v) = 0. So any weight that does not depend on z_{j,t} given
the prefix adds nothing: R(z_{j,1:t-1}) is a constant then, and the other samples are drawn independently of z_j, how
far they come included.

Shapes: B examples, J samples of each, T time.
"""

from typing import Any, Literal

import torch
from torch import Tensor

from bangbang.contracts import Batch, Decoder, Model, Proposal
from bangbang.objectives.base import rewarded_references
from bangbang.objectives.policy_gradients import diagnose, less_others, model_samples
from bangbang.objectives.regularization import Anchor, RegularizedObjective, propose_weighed
from bangbang.objectives.sampler import Sample
from bangbang.objectives.settings import Rloo
from bangbang.rewards import Reward
from bangbang.symbols import PAD


def to_go(sample: Sample) -> Tensor:
    """G_t = R(z) - R(z_{1:t-1}), as shares of the reward's bounds; 0 after the end. [B·J, T]"""
    assert sample.earned is not None
    return (sample.shares.unsqueeze(1) - sample.earned).masked_fill(sample.tokens == PAD, 0)


def rloo(
    decoder: Decoder,
    reward: Reward,
    references: Tensor,
    max_length: int,
    samples: int,
    credit: Literal["sequence", "token"],
    generator: torch.Generator,
    anchor: Anchor | None = None,
) -> Proposal:
    """-Σ_j Σ_t A_{j,t} ∂/∂θ log p(z_{j,t} | x, z_{j,1:t-1}), z_j ~ p(z | x); positions of weight 0 are left out.

    `references`: token ids [B, T], or [B, M, T] with several for each example.
    """
    rollout, sample = model_samples(decoder, reward, references, max_length, samples, generator, credit == "token")
    advantages = less_others(to_go(sample) if credit == "token" else sample.shares.unsqueeze(1), samples)
    diagnostics = diagnose(sample, references, 0.0, advantages)
    return propose_weighed(rollout, decoder.head, sample, advantages, diagnostics, anchor)


class LeaveOneOut(RegularizedObjective):
    settings: Rloo

    def rewarded(self, model: Model[Any], batch: Batch, step: int, generator: torch.Generator) -> Proposal:
        decoder, references = self.policy(model, batch), rewarded_references(batch)
        drawn = self.settings.samples, self.settings.credit
        proposal = rloo(decoder, self.reward, references, self.max_length, *drawn, generator, self.anchor(batch))
        return self.regularized(proposal, decoder, batch)
