"""Minimum risk training (Shen et al. 2016): the expected reward over a set of candidates, by the model's own weights.

    L = -Σ_z Q(z) R(z)        Q(z) = p(z)^α / Σ_{z'} p(z')^α        over the distinct candidates of an example

As ∂Q(z) = α Q(z) (∂log p(z) - Σ_{z'} Q(z') ∂log p(z')), its gradient is that of weighted log-likelihoods:

    ∂L = -Σ_z α Q(z) (R(z) - R̄) ∂log p(z)        R̄ = Σ_z Q(z) R(z)

The weights ask for log p before the loss does, so the vocabulary layer runs once more, without a graph.

Shapes: B examples, K candidates of each, T time, N positions.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from bangbang.contracts import Batch, Decoder, Diagnostics, Model, Proposal
from bangbang.objectives.base import (
    RewardedObjective,
    propose_known,
    reference_token_count,
    rewarded_references,
    token_count,
)
from bangbang.objectives.choice import Rules
from bangbang.objectives.policy_gradients import bang_bang_weights, read_by
from bangbang.objectives.sampler import draw
from bangbang.objectives.settings import Mrt
from bangbang.precision import widest_float
from bangbang.rewards import Reward, repeat
from bangbang.symbols import PAD


def distinct(candidates: Tensor) -> Tensor:
    """Whether no earlier candidate of the example is the same: [B, K, T] -> [B, K]"""
    same = (candidates.unsqueeze(2) == candidates.unsqueeze(1)).all(3)  # [B, K, K]
    return ~same.tril(-1).any(2)


def sharpened(log_p: Tensor, kept: Tensor, alpha: float) -> Tensor:
    """Q(z) = p(z)^α / Σ_{z'} p(z')^α over the candidates that are kept, 0 for the others. [B, K]"""
    return (alpha * log_p).masked_fill(~kept, -torch.inf).softmax(1)


def risk_weights(q: Tensor, rewards: Tensor, kept: Tensor, alpha: float) -> Tensor:
    """α Q(z) (R(z) - R̄); exactly 0 where all candidates that are kept earn the same, whatever rounding. [B, K]"""
    mean = (q * rewards).sum(1, keepdim=True)
    first = rewards.gather(1, kept.int().argmax(1, keepdim=True))
    equal = ((rewards == first) | ~kept).all(1, keepdim=True)
    return (alpha * q * (rewards - mean)).masked_fill(equal, 0)


def mrt(decoder: Decoder, reward: Reward, references: Tensor, candidates: Tensor, alpha: float) -> Proposal:
    """-Σ_z α Q(z) (R(z) - R̄) Σ_t ∂/∂θ log p(z_t | x, z_{1:t-1}) for candidates z [B, K, T], padded.

    Of those that are the same, one counts. `references`: token ids [B, T], or [B, M, T] with several for each example.
    The reward that is reported is R̄.
    """
    examples, times = candidates.shape[:2]
    kept = distinct(candidates)
    sequences = candidates.masked_fill(~kept.unsqueeze(2), PAD).flatten(0, 1)  # [B·K, T]
    state = read_by(reward, references, candidates.flatten(0, 1), times)
    known = propose_known(decoder.repeat(times), sequences, Diagnostics(0, 0, 0))
    with torch.no_grad():
        table = torch.zeros_like(sequences.t(), dtype=widest_float(sequences.device))  # [T, B·K]
        written = sequences.t() != PAD
        table[written] = decoder.head.log_prob(known.features, known.tokens).to(table.dtype)
    q = sharpened(table.sum(0).view(examples, times), kept, alpha)
    weights = risk_weights(q, state.loss_weight().view(examples, times).to(q.dtype), kept, alpha)
    each = weights.flatten().expand_as(written)[written]  # [N]
    counted = each.nonzero().squeeze(1)
    earned = q * state.main_value().view(examples, times).to(q.dtype)
    diagnostics = Diagnostics(
        samples=int(kept.sum()),
        sample_tokens=token_count(sequences),
        reference_tokens=reference_token_count(references, int(kept.sum())),
        reward=float(earned.sum()),
        rewarded=examples,
        compared=examples,
        equal=examples - int(weights.any(1).sum()),
    )
    features = known.features.index_select(0, counted)
    return Proposal(known.tokens[counted], features, each[counted].to(features.dtype), diagnostics)


class MinimumRisk(RewardedObjective):
    settings: Mrt

    def __init__(self, settings: Mrt, reward: Reward, max_length: int) -> None:
        super().__init__(settings, max_length)
        self.reward = reward

    def rewarded(self, model: Model[Any], batch: Batch, step: int, generator: torch.Generator) -> Proposal:
        known = [batch.target[:, : self.max_length]] if self.settings.reference else []
        if self.settings.greedy:  # before the decoder that is trained begins
            known.append(model.greedy(batch.source, batch.source_length, self.max_length))
        decoder, references = model.begin(batch.source, batch.source_length), rewarded_references(batch)
        sets = [each.unsqueeze(1) for each in known]
        if self.settings.samples + self.settings.bang_bang:
            sets.append(self.drawn(decoder, references, generator))
        longest = max(each.shape[2] for each in sets)
        candidates = torch.cat([F.pad(each, (0, longest - each.shape[2]), value=PAD) for each in sets], 1)
        return mrt(decoder, self.reward, references, candidates, self.settings.alpha)

    @torch.no_grad()
    def drawn(self, decoder: Decoder, references: Tensor, generator: torch.Generator) -> Tensor:
        """Candidates of the model alone, then of bang-bang SPG. [B, K, T]"""
        alone, times, rows = self.settings.samples, self.settings.samples + self.settings.bang_bang, len(references)
        coins, chances = torch.rand(2, rows * times, self.max_length, generator=generator).to(references.device)
        driven = bang_bang_weights(coins, self.settings.bang_bang_p_drop).view(rows, times, -1)
        driven[:, :alone] = False
        rollout = decoder.repeat(times).rollout(self.max_length)
        rules = Rules() if self.settings.bang_bang else Rules(weight=0.0)
        state = repeat(self.reward.start(references), times)
        sample = draw(rollout, decoder.head, state, driven.flatten(0, 1), chances, rules)
        return sample.tokens.view(rows, times, -1)

    def normalized(self, proposal: Proposal) -> Proposal:
        """As others, but the candidates of an example, whose Q add up to 1, are one sequence."""
        examples = proposal.diagnostics.compared
        counts = {"sequences": examples, "constant": examples * self.max_length}
        return proposal._replace(divisor=counts.get(self.settings.normalizer, len(proposal.tokens)))
