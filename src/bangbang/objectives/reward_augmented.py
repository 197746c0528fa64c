"""Reward-augmented maximum likelihood (Norouzi et al. 2016): targets drawn from exp(R / τ), the model left out.

Shapes: B examples, T time, K candidates, E numbers of edits.
"""

from typing import Any

import torch
from torch import Tensor

from bangbang.contracts import Batch, Decoder, Diagnostics, Increments, Model, PlainState, Proposal
from bangbang.objectives.base import RewardedObjective, propose_known, reference_token_count, token_count
from bangbang.objectives.settings import Raml
from bangbang.precision import widest_float
from bangbang.rewards import Reward, repeat
from bangbang.symbols import BOS, EOS, PAD

SPECIAL = 3  # `<pad>`, `<s>` and `</s>` come first in every vocabulary; what follows may stand inside a target


def edit_weights(lengths: Tensor, tau: float, vocabulary_size: int) -> Tensor:
    """log [ C(n, e) · exp(-e/τ) · (V-1)^(e - e/τ) ] for n words and e = 0 ... max n edits, -inf for e > n. [B, E]

    The payoff -e (Hamming distance) has (V-1)^e C(n, e) sequences at distance e. With the payoff alone nearly all mass
    would lie far from the reference, so the published method scales it by 1 + log(V-1), which gives these weights.
    """
    n = lengths.to(widest_float(lengths.device)).unsqueeze(1)
    e = torch.arange(int(lengths.max()) + 1, device=lengths.device, dtype=n.dtype)
    choose = torch.lgamma(n + 1) - torch.lgamma(e + 1) - torch.lgamma((n - e).clamp(min=0) + 1)
    log_weight = choose - e / tau + (e - e / tau) * torch.log(torch.tensor(vocabulary_size - 1.0))
    return log_weight.masked_fill(e > n, -torch.inf)


def hamming_targets(references: Tensor, tau: float, vocabulary_size: int, generator: torch.Generator) -> Tensor:
    """z ∝ exp(-Hamming(z, y)/τ), rescaled: e words of y, chosen evenly, become any other word. `</s>` stays. [B, T]"""
    device = references.device
    words = (references != PAD) & (references != EOS)
    mass = edit_weights(words.sum(1), tau, vocabulary_size - SPECIAL).softmax(1).cpu()
    edits = torch.multinomial(mass, 1, generator=generator).to(device)  # [B, 1]
    lottery = torch.rand(references.shape, generator=generator).to(device).masked_fill(~words, 2.0)
    edited = lottery.argsort(1).argsort(1) < edits
    # a step of 1 ... V-1 around the ring of words never comes back to the word itself
    step = torch.randint(1, vocabulary_size - SPECIAL, references.shape, generator=generator).to(device)
    other = SPECIAL + (references - SPECIAL + step) % (vocabulary_size - SPECIAL)
    return other.where(edited, references)


def reward_step(increments: Increments, tau: float, vocabulary_size: int, uniform: Tensor, rest: Tensor) -> Tensor:
    """One token per row from q(v) ∝ exp(Δr(v) / τ) over the vocabulary: a candidate, or evenly any other token. [B]

    `rest` [B] is the other token to take in that case.
    """
    increments = increments.total
    real, precision = increments.tokens != PAD, widest_float(increments.values.device)
    others = vocabulary_size - 2 - real.sum(1, keepdim=True)  # neither `<pad>` nor `<s>` nor a candidate
    candidates = (increments.values.to(precision) / tau).masked_fill(~real, -torch.inf)
    rest_mass = increments.rest.to(precision).unsqueeze(1) / tau + others.to(precision).log()
    everything = torch.cat((candidates, rest_mass), 1)
    mass = everything.softmax(1).cumsum(1)
    slot = torch.searchsorted(mass, uniform.to(precision).unsqueeze(1) * mass[:, -1:], right=True)
    slot = torch.minimum(slot, (mass < mass[:, -1:]).sum(1, keepdim=True))
    return torch.cat((increments.tokens, rest.unsqueeze(1)), 1).gather(1, slot).squeeze(1)


def other_tokens(increments: Increments, vocabulary_size: int, generator: torch.Generator) -> Tensor:
    """For each row, evenly one of the tokens that can be generated and are no candidate. [B]

    The r-th of these is found by walking over the sorted excluded tokens: each one not above r moves r up by one.
    """
    tokens = increments.tokens.cpu()
    excluded = torch.cat((tokens, torch.full_like(tokens[:, :1], BOS)), 1)
    excluded = torch.cat((excluded, torch.zeros_like(tokens[:, :1])), 1).sort(1).values
    first = torch.ones_like(excluded, dtype=torch.bool)
    first[:, 1:] = excluded[:, 1:] != excluded[:, :-1]
    free = vocabulary_size - first.sum(1)
    fractions = torch.rand(len(tokens), generator=generator, dtype=widest_float(tokens.device))
    place = (fractions * free).long().clamp(max=free - 1)
    for column, real in zip(excluded.unbind(1), first.unbind(1), strict=True):
        place = place + ((column <= place) & real).long()
    return place.to(increments.tokens.device)


def reward_targets(
    state: PlainState, max_length: int, tau: float, vocabulary_size: int, generator: torch.Generator
) -> Tensor:
    """z_t ∝ exp(Δr(z_t) / τ), token by token: forward-pass sampling from exp(R/τ) of any incremental reward. [B, T]"""
    tokens = []
    going: Tensor | None = None
    for _ in range(max_length):
        increments = state.increments()
        uniform = torch.rand(len(increments.rest), generator=generator).to(increments.rest.device)
        other = other_tokens(increments, vocabulary_size, generator)
        chosen = reward_step(increments, tau, vocabulary_size, uniform, other)
        chosen = chosen if going is None else chosen.where(going, torch.full_like(chosen, PAD))
        going = (chosen != EOS) & (chosen != PAD)
        tokens.append(chosen)
        state.advance(chosen)
        if not bool(going.any()):
            break
    return torch.stack(tokens, 1)


def raml(
    decoder: Decoder,
    references: Tensor,
    max_length: int,
    tau: float,
    samples: int,
    generator: torch.Generator,
    reward: Reward | None = None,
) -> Proposal:
    """Eq. 3: -1/J Σ_j log p(z_j | x), z_j ~ exp(R(z | y)/τ). R is minus the Hamming distance, or `reward`."""
    vocabulary_size = decoder.head.size
    if reward is None:
        targets = hamming_targets(references.repeat_interleave(samples, 0), tau, vocabulary_size, generator)
    else:
        state = repeat(reward.start(references), samples)
        targets = reward_targets(state, max_length, tau, vocabulary_size, generator)
    counts = Diagnostics(len(targets), token_count(targets), reference_token_count(references, len(targets)))
    return propose_known(decoder.repeat(samples), targets, counts)


class RewardAugmented(RewardedObjective):
    def __init__(self, settings: Raml, reward: Reward | None, max_length: int) -> None:
        """`reward`: the payoff, where it is not the Hamming distance."""
        super().__init__(settings, max_length)
        self.tau, self.samples, self.reward = settings.tau, settings.samples, reward

    def propose(self, model: Model[Any], batch: Batch, step: int, generator: torch.Generator) -> Proposal:
        if self.reward is not None:
            return super().propose(model, batch, step, generator)
        return super(RewardedObjective, self).propose(model, batch, step, generator)

    def targets(self, decoder: Decoder, references: Tensor, step: int, generator: torch.Generator) -> Proposal:
        return raml(decoder, references, self.max_length, self.tau, self.samples, generator, self.reward)
