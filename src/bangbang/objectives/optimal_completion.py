"""Optimal completion distillation (Sabour et al. 2019): the model's own prefixes, and how each is completed best.

A token of a sample z ~ p is followed by whatever the model wrote. But what is taught after z_{1:t-1} are the tokens S_t
that begin a completion of the highest reward:

    L = -Σ_t 1/|S_t| Σ_{v in S_t} log p(v | x, z_{1:t-1})        S_t = arg max_v max_c R(z_{1:t-1} v c | y)

which is the paper's KL(π* || p), but for a constant, in the limit τ → 0 of its optimal policy π*. By edit distance S_t
comes from one row of its table.

Shapes: B examples, J samples of each, T time, N positions, K best tokens of a position.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from bangbang.contracts import Decoder, Proposal
from bangbang.objectives.base import RewardedObjective
from bangbang.objectives.candidate_settings import Ocd
from bangbang.objectives.policy_gradients import diagnose, model_samples, propose_sampled
from bangbang.rewards import Reward, adapted, completions, repeat
from bangbang.symbols import EOS, PAD, UNK


@torch.no_grad()
def best_tokens(reward: Reward, references: Tensor, known: Tensor, samples: int) -> Tensor:
    """The tokens that begin a best completion, before each token of known sequences: [B·J, T] -> [B·J, T, K]"""
    state, found = adapted(repeat(reward.start(references), samples)), []
    for tokens in known.unbind(1):
        found.append(completions(state))
        state.advance(tokens)
    widest = max(each.shape[1] for each in found)
    return torch.stack([F.pad(each, (0, widest - each.shape[1]), value=PAD) for each in found], 1)


def shared_evenly(proposal: Proposal) -> Proposal:
    """Sets [N, K] as targets of equal weight: -c/K Σ_k log p(v_k) instead of -c log Σ_k p(v_k)."""
    if not proposal.sets:
        return proposal
    members = (proposal.tokens != PAD).to(proposal.coefficients.dtype)
    shares = members / members.sum(1, keepdim=True)
    return proposal._replace(coefficients=proposal.coefficients.unsqueeze(1) * shares, sets=False)


def ocd(
    decoder: Decoder,
    reward: Reward,
    references: Tensor,
    max_length: int,
    samples: int,
    generator: torch.Generator,
    as_sets: bool = False,
    given: Tensor | None = None,
) -> Proposal:
    """-Σ_j Σ_t 1/|S_{j,t}| Σ_{v in S_{j,t}} ∂/∂θ log p(v | x, z_{j,1:t-1}), z_j ~ p(z | x); of sets, -∂log p(S_{j,t}).

    `references`: token ids [B, T], or [B, M, T] with several for each example. `given` [B·J, T] is how samples begin;
    if it is the references, this is maximum likelihood.
    """
    rollout, sample = model_samples(decoder, reward, references, max_length, samples, generator, given=given)
    sample = sample._replace(targets=best_tokens(reward, references, sample.tokens, samples))
    weights = torch.ones_like(sample.shares).unsqueeze(1)
    proposal = propose_sampled(rollout, sample, sample.driven, weights, diagnose(sample, references, 0.0))
    return proposal if as_sets else shared_evenly(proposal)


class OptimalCompletion(RewardedObjective):
    settings: Ocd

    def __init__(self, settings: Ocd, reward: Reward, max_length: int) -> None:
        super().__init__(settings, max_length)
        self.reward = reward
        completions(reward.start(torch.tensor([[UNK + 1, EOS]])))  # a reward without them is told of before training

    def targets(self, decoder: Decoder, references: Tensor, step: int, generator: torch.Generator) -> Proposal:
        as_sets, drawn = self.settings.targets == "set", self.settings.samples
        return ocd(decoder, self.reward, references, self.max_length, drawn, generator, as_sets)
