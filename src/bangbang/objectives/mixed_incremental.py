"""MIXER (Ranzato et al. 2016): cross-entropy on the reference's first tokens, REINFORCE on what the model adds to them.

The part that is sampled begins as the reference's last Δ tokens, and Δ grows from step to step until nothing of the
reference is left. The paper's baseline is a linear regressor of the decoder's states. Ours is the mean reward of the
example's other samples, which go on from the same prefix.

Shapes: B examples, J samples of each, T time.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from bangbang.contracts import Batch, Decoder, Model, Proposal
from bangbang.objectives.base import RewardedObjective, rewarded_references, token_count
from bangbang.objectives.curriculum_settings import Mixer
from bangbang.objectives.likelihood import mle
from bangbang.objectives.policy_gradients import diagnose, less_others, model_samples, propose_sampled
from bangbang.rewards import Reward
from bangbang.symbols import PAD


def beginnings(targets: Tensor, suffix: int) -> Tensor:
    """The first |y| - Δ tokens of each reference y [B, T], `</s>` counted; `<pad>` after them."""
    lengths = (targets != PAD).sum(1, keepdim=True)
    return targets.where(torch.arange(targets.shape[1], device=targets.device) < lengths - suffix, PAD)


def mixer(
    decoder: Decoder,
    reward: Reward,
    targets: Tensor,
    references: Tensor,
    max_length: int,
    suffix: int,
    samples: int,
    generator: torch.Generator,
) -> Proposal:
    """-Σ_{t≤s} log p(y_t | x, y_{1:t-1}) - 1/J Σ_j A_j Σ_{t>s} log p(z_{j,t} | x, z_{j,1:t-1}), all of it times J.

    s = |y| - Δ, z_j = y_{1:s} and what the model adds, A_j = R_j - 1/(J-1) Σ_{k≠j} R_k. Divided by positions, it is
    divided by those of the references. A `suffix` Δ of |y| or more is `rloo`.
    `targets` y: [B, T]. `references`, which the reward sees: [B, T], or [B, M, T] with several for each example.
    """
    given = F.pad(beginnings(targets, suffix), (0, max_length - targets.shape[1]), value=PAD)
    given = given.repeat_interleave(samples, 0)  # [B·J, T]
    rollout, sample = model_samples(decoder, reward, references, max_length, samples, generator, given=given)
    known, advantages = given != PAD, less_others(sample.shares.unsqueeze(1), samples)
    first = (
        torch.arange(len(given), device=given.device).unsqueeze(1) % samples == 0
    )  # all J begin alike: one is enough
    counted = sample.driven & torch.where(known, first, advantages != 0)
    weights = torch.where(known, float(samples), advantages)
    proposal = propose_sampled(rollout, sample, counted, weights, diagnose(sample, references, 0.0, advantages))
    return proposal._replace(divisor=samples * token_count(targets))


class MixedIncremental(RewardedObjective):
    settings: Mixer

    def __init__(self, settings: Mixer, reward: Reward, max_length: int) -> None:
        super().__init__(settings, max_length)
        self.reward = reward

    def propose(self, model: Model[Any], batch: Batch, step: int, generator: torch.Generator) -> Proposal:
        if self.settings.suffix_at(step):
            return super().propose(model, batch, step, generator)
        return self.normalized(mle(model.begin(batch.source, batch.source_length), batch.target))

    def rewarded(self, model: Model[Any], batch: Batch, step: int, generator: torch.Generator) -> Proposal:
        decoder, references = model.begin(batch.source, batch.source_length), rewarded_references(batch)
        sizes = self.max_length, self.settings.suffix_at(step), self.settings.samples
        return mixer(decoder, self.reward, batch.target, references, *sizes, generator)
