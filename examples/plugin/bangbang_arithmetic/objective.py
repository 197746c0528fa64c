"""An objective: λ · (policy gradient with a baseline) + (1 - λ) · (maximum likelihood)."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from bangbang.objectives import Decoder, Proposal, RewardedObjective, Rules, Sampling, mle, spg
from bangbang.objectives.settings import ObjectiveSettings
from bangbang.rewards import Reward


@dataclass(frozen=True)
class MixedSettings(ObjectiveSettings):
    """Policy gradient and maximum likelihood at once: the likelihood keeps a young model going."""

    share: float = 0.5
    """λ, the share of the policy gradient."""
    samples: int = 4
    """Samples of each example; each one's baseline is the mean reward of the others."""

    def build(self, reward: Callable[[], Reward], max_length: int) -> "Mixed":
        return Mixed(self, reward(), max_length)


class Mixed(RewardedObjective):
    def __init__(self, settings: MixedSettings, reward: Reward, max_length: int) -> None:
        super().__init__(settings, max_length)
        self.share, self.reward = settings.share, reward
        self.sampling = Sampling(0.0, settings.samples, True, "others", rules=Rules(weight=0.0))

    def targets(self, decoder: Decoder, references: Tensor, step: int, generator: torch.Generator) -> Proposal:
        sampled = spg(decoder, self.reward, references, self.max_length, self.sampling, generator)
        known = mle(decoder, references if references.ndim == 2 else references[:, 0])
        tokens = torch.cat((sampled.tokens, known.tokens))
        weights = torch.cat((self.share * sampled.coefficients, (1 - self.share) * known.coefficients))
        return Proposal(tokens, torch.cat((sampled.features, known.features)), weights, sampled.diagnostics)
