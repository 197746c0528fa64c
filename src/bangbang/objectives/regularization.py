"""What holds a policy gradient near readable text: a share of maximum likelihood on the references."""

import torch

from bangbang.contracts import Batch, Decoder, Proposal
from bangbang.objectives.base import RewardedObjective
from bangbang.objectives.likelihood import mle
from bangbang.objectives.settings import RegularizedSettings
from bangbang.rewards import Reward


def with_likelihood(sampled: Proposal, known: Proposal, share: float) -> Proposal:
    """(1 - λ) · L / D + λ · L_mle / N, with the divisors D of the sampled targets and N of the known ones.

    One divisor is left: λ · D / N weighs a known position. If nothing was sampled, D may be 0, and N takes its place.
    """
    assert sampled.divisor is not None
    divisor = sampled.divisor or len(known.tokens)
    weight = share * divisor / len(known.tokens)
    return sampled._replace(
        tokens=torch.cat((sampled.tokens, known.tokens)),
        features=torch.cat((sampled.features, known.features)),
        coefficients=torch.cat(((1 - share) * sampled.coefficients, weight * known.coefficients)),
        divisor=divisor,
    )


class RegularizedObjective(RewardedObjective):
    """A policy gradient; the example's own reference is what likelihood is taken of, also where there are several."""

    settings: RegularizedSettings

    def __init__(self, settings: RegularizedSettings, reward: Reward, max_length: int) -> None:
        super().__init__(settings, max_length)
        self.reward = reward

    def regularized(self, proposal: Proposal, decoder: Decoder, batch: Batch) -> Proposal:
        """The sampled targets, and the references if they have a share."""
        if not self.settings.likelihood:
            return proposal
        return with_likelihood(self.normalized(proposal), mle(decoder, batch.target), self.settings.likelihood)
