"""What holds a policy gradient near readable text: a share of likelihood, and the divergence from where it started.

The gradient of KL(p || p_0) over whole sequences is, by samples z ~ p of the model itself,

    ∂KL = E[Σ_t K_t ∂log p(z_t | z_{1:t-1})]        K_t = Σ_{s ≥ t} log p(z_s | z_{1:s-1}) - log p_0(z_s | z_{1:s-1})

since the expectation of ∂log p itself is 0, and so is what came before t times it. For the same reason the mean K_t of
the example's other samples, drawn independently, can be taken off. So it joins the weights of the policy gradient.

Shapes: B examples, J samples of each, T time, N positions: all tokens of all samples.
"""

from contextlib import nullcontext
from typing import Any, NamedTuple

import torch
from torch import Tensor

from bangbang.contracts import Batch, Decoder, Diagnostics, Head, Model, Proposal, Walked
from bangbang.errors import InputError
from bangbang.eval_mode import without_dropout
from bangbang.objectives.base import RewardedObjective, TemperedDecoder, propose_known
from bangbang.objectives.likelihood import mle
from bangbang.objectives.policy_gradients import less_others, propose_sampled
from bangbang.objectives.sampler import Sample
from bangbang.objectives.settings import RegularizedSettings
from bangbang.rewards import Reward


class Anchor(NamedTuple):
    """What samples are held near: the decoder of p_0 for the same inputs."""

    start: Decoder
    samples: int  # J
    weight: float  # β


def divergence_to_go(ratios: Tensor, written: Tensor, samples: int) -> Tensor:
    """K_t, less the mean of the example's other samples at t, if there are any. [N]

    `ratios` [N] are log p - log p_0 of the tokens that are `written` [B·J, T], time by time and row by row.
    """
    table = torch.zeros_like(written.t(), dtype=ratios.dtype)  # [T, B·J]
    table[written.t()] = ratios
    left = table.flip(0).cumsum(0).flip(0)
    return (less_others(left.t(), samples).t() if samples > 1 else left)[written.t()]


@torch.no_grad()
def held(proposal: Proposal, head: Head, sample: Sample, anchor: Anchor) -> Proposal:
    """A proposal of all tokens of a sample, with β·K_t taken off the weights."""
    before = propose_known(anchor.start.repeat(anchor.samples), sample.tokens, proposal.diagnostics)
    log_p = head.log_prob(proposal.features, proposal.tokens)
    ratios = log_p - anchor.start.head.log_prob(before.features, before.tokens)
    penalties = anchor.weight * divergence_to_go(ratios, sample.driven, anchor.samples)
    return proposal._replace(coefficients=proposal.coefficients - penalties.to(proposal.coefficients.dtype))


def propose_weighed(
    walked: Walked, head: Head, sample: Sample, advantages: Tensor, diagnostics: Diagnostics, anchor: Anchor | None
) -> Proposal:
    """Samples of the model, each token with its advantage [B·J, T], or [B·J, 1] for whole sequences.

    Where nothing is held, positions of weight 0 are left out.
    """
    if anchor is not None:
        return held(propose_sampled(walked, sample, sample.driven, advantages, diagnostics), head, sample, anchor)
    counted = sample.driven & (advantages != 0)
    return propose_sampled(walked, sample, counted, advantages, diagnostics)


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
    start: Model[Any] | None

    def __init__(self, settings: RegularizedSettings, reward: Reward, max_length: int) -> None:
        super().__init__(settings, max_length)
        self.reward, self.start = reward, None

    def propose(self, model: Model[Any], batch: Batch, step: int, generator: torch.Generator) -> Proposal:
        with nullcontext() if self.settings.dropout else without_dropout(model):
            return super().propose(model, batch, step, generator)

    def begin_stage(self, start: Model[Any]) -> None:
        self.start = start

    @torch.no_grad()
    def anchor(self, batch: Batch) -> Anchor | None:
        if not self.settings.needs_start:
            return None
        if self.start is None:
            raise InputError("objective.kl compares with the model that training started from; call begin_stage first")
        return Anchor(self.policy(self.start, batch), self.settings.samples, self.settings.kl)

    def policy(self, model: Model[Any], batch: Batch) -> Decoder:
        """What is sampled and trained: the model at its temperature."""
        return TemperedDecoder(model.begin(batch.source, batch.source_length), self.settings.temperature)

    def regularized(self, proposal: Proposal, decoder: Decoder, batch: Batch) -> Proposal:
        """The sampled targets, and the references if they have a share."""
        proposal = proposal._replace(temperature=self.settings.temperature)
        if not self.settings.likelihood:
            return proposal
        return with_likelihood(self.normalized(proposal), mle(decoder, batch.target), self.settings.likelihood)
