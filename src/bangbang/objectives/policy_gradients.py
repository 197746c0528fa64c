"""Softmax policy gradient, its bang-bang form, and the policy gradient, which is both without a reward in the sampler.

Shapes: B examples, J samples of each, T time.
"""

from typing import Literal, NamedTuple

import torch
from torch import Tensor

from bangbang.contracts import Decoder, Diagnostics, Proposal, ReadingDecoder, Walked
from bangbang.errors import InputError
from bangbang.objectives.base import RewardedObjective, reference_token_count, token_count
from bangbang.objectives.choice import Rules
from bangbang.objectives.lessons import Lessons, left_over_chances
from bangbang.objectives.passes import Recalled, begun_with, draw_by_passes
from bangbang.objectives.sampler import Sample, draw
from bangbang.objectives.settings import BangBang, Pg, SampledSettings, Spg
from bangbang.objectives.word_sampler import draw_words, unused_chances
from bangbang.rewards import Reward, RewardState, WordState, adapted, repeat
from bangbang.symbols import PAD


class Sampling(NamedTuple):
    """What makes a method out of the sampler: how samples are drawn, and how their loss is weighed."""

    p_drop: float = 0.0
    samples: int = 1
    weight_by_reward: bool = True
    baseline: Literal["none", "others"] = "none"
    ends: Literal["open", "reference"] = "open"
    rules: Rules = Rules()
    positions: Literal["driven", "all"] = "driven"
    exact_ties: bool = False
    way: Literal["sequential", "jumps", "passes"] = "sequential"
    max_passes: int = 0

    def lessons(self, coins: Tensor) -> Lessons | None:
        """What the sampler is to keep beside z, by the coins [B·J, T] that are thrown for w."""
        if self.positions == "driven" and not self.exact_ties:
            return None
        chances = left_over_chances(coins, self.p_drop) if self.positions == "all" else None
        return Lessons(chances, self.exact_ties)


def bang_bang_weights(uniform: Tensor, p_drop: float) -> Tensor:
    """p(w_t = 0) = p_drop = 1 - p(w_t = W), for each token of each example: whether w_t = W."""
    return uniform >= p_drop


def others_baseline(values: Tensor, samples: int) -> Tensor:
    """R_j - 1/(J-1) Σ_{k≠j} R_k: the mean reward of an example's other samples, which do not depend on z_j. [B·J]"""
    each = values.view(-1, samples)
    return (each - (each.sum(1, keepdim=True) - each) / (samples - 1)).flatten()


def less_others(values: Tensor, samples: int) -> Tensor:
    """`others_baseline` of each column [B·J, T]; exactly 0 where an example's samples are equal, whatever rounding."""
    columns = values.view(-1, samples, values.shape[1]).transpose(1, 2)  # [B, T, J]
    advantages = others_baseline(columns.flatten(), samples).view_as(columns)
    equal = (columns == columns[:, :, :1]).all(2, keepdim=True)
    return advantages.masked_fill(equal, 0).transpose(1, 2).reshape(values.shape)


def loss_weights(shares: Tensor, settings: Sampling) -> Tensor:
    """The weight of each sample's log-likelihood [B·J]: R(z | y) between 0 and 1, without its baseline, or 1."""
    if not settings.weight_by_reward:
        return torch.ones_like(shares)
    return others_baseline(shares, settings.samples) if settings.baseline == "others" else shares


class Guides(NamedTuple):
    """What the references tell the sampler beside the reward, where the settings ask for it."""

    order: Tensor | None  # [B·J, S] their tokens, in whose order ties go
    ends: Tensor | None  # [B·J] |y|, `</s>` counted, of the longest: the last token of a sample

    @classmethod
    def of(cls, references: Tensor, settings: Sampling) -> "Guides":
        """`references`: [B, T] or [B, M, T]"""
        order, lengths = references.flatten(1), (references != PAD).sum(-1).view(len(references), -1).amax(1)
        return cls(
            order.repeat_interleave(settings.samples, 0) if settings.rules.ties == "reference" else None,
            lengths.repeat_interleave(settings.samples) if settings.ends == "reference" else None,
        )

    def select(self, rows: Tensor) -> "Guides":
        return Guides(*(None if part is None else part[rows] for part in self))


def spg(
    decoder: Decoder,
    reward: Reward,
    references: Tensor,
    max_length: int,
    settings: Sampling,
    generator: torch.Generator,
) -> Proposal:
    """Eq. 9 and 14: -Σ_j c_j Σ_{t: w_t ≠ 0} ∂/∂θ log p(z_t | x, z_{1:t-1}), z_j ~ q̃(z | x, y, w), w ~ p(w).

    p_drop = 0 gives SPG (all positions count), and with an infinite W the arg-max of the reward at each step, which is
    maximum likelihood for rewards whose arg-max is the reference. W = 0 gives the policy gradient of Eq. 6.
    `references`: token ids [B, T], or [B, M, T] with several for each example. With `ends` of the reference, which the
    paper does not have, a sample's `</s>` comes at |y| at the latest (of the longest, if there are several). With all
    `positions`, or `exact_ties`, the targets are those of `lessons`.
    """
    times = settings.samples
    rollout, sample = mixed_samples(decoder.repeat(times), reward, references, max_length, settings, generator)
    weights = loss_weights(sample.shares, settings).unsqueeze(1)
    compares = settings.weight_by_reward and settings.baseline == "others"
    advantages = less_others(sample.shares.unsqueeze(1), times) if compares else None
    diagnostics = diagnose(sample, references, settings.rules.weight, advantages)
    if settings.positions == "driven":
        return propose_sampled(rollout, sample, sample.driven, weights, diagnostics)
    kept, counted = 1 - settings.p_drop, (sample.tokens != PAD) & (settings.p_drop < 1)
    proposal = propose_sampled(rollout, sample, counted, kept * weights, diagnostics)
    return proposal._replace(divisor=kept * len(proposal.tokens))  # as many as the reward drives, on average


def mixed_samples(
    decoder: Decoder,
    reward: Reward,
    references: Tensor,
    max_length: int,
    settings: Sampling,
    generator: torch.Generator,
) -> tuple[Walked, Sample]:
    """z ~ q̃(z | x, y, w), w ~ p(w), of a decoder with J rows for each example.

    By jumps, all rows have the same coins, so that the model need not be asked where none of them drops the reward;
    each row is drawn as ever, but they are not independent. By passes, they are those of steps, if passes suffice.
    A reward of words has a coin for each word.
    """
    times = settings.samples
    coins, chances = torch.rand(2, len(references) * times, max_length, generator=generator).to(references.device)
    if settings.way == "jumps":
        coins = coins[:1].expand_as(coins)
    state = reward.start(references)
    state = repeat(state, times) if times > 1 else state
    driven, guides = bang_bang_weights(coins, settings.p_drop), Guides.of(references, settings)
    if isinstance(state, WordState) and settings.rules.weight > 0:
        rollout, spare = decoder.rollout(max_length), unused_chances(coins, settings.p_drop)
        return rollout, draw_words(rollout, decoder.head, state, driven, chances, spare, settings.rules)
    lessons = settings.lessons(coins)

    def redraw(recalled: Recalled, rows: Tensor) -> Sample:
        chosen = None if lessons is None else lessons.select(rows)
        drawn = driven[rows], chances[rows], settings.rules, *guides.select(rows)
        return draw(recalled, decoder.head, state.select(rows), *drawn, lessons=chosen)

    if settings.way == "passes":
        first = begun_with(references, times, max_length)
        return draw_by_passes(reading(decoder), first, redraw, settings.max_passes)
    rollout = reading(decoder).jumps() if settings.way == "jumps" else decoder.rollout(max_length)
    return rollout, draw(rollout, decoder.head, state, driven, chances, settings.rules, *guides, lessons=lessons)


def reading(decoder: Decoder) -> ReadingDecoder:
    if not isinstance(decoder, ReadingDecoder):
        raise InputError(f'objective.sampling must be "sequential" for a {type(decoder).__name__}')
    return decoder


def model_samples(
    decoder: Decoder,
    reward: Reward,
    references: Tensor,
    max_length: int,
    samples: int,
    generator: torch.Generator,
    with_earned: bool = False,
    given: Tensor | None = None,
) -> tuple[Walked, Sample]:
    """z ~ p(z | x), J for each example: those of `spg` with W = 0. All positions count as driven.

    `given` [B·J, T]: as `draw` has them.
    """
    rollout = decoder.repeat(samples).rollout(max_length)
    # the first half are coins that nobody throws: one seed gives all methods that sample the model the same samples
    _, chances = torch.rand(2, len(references) * samples, max_length, generator=generator).to(references.device)
    driven, rules = torch.ones_like(chances, dtype=torch.bool), Rules(weight=0.0)
    state = repeat(reward.start(references), samples)
    sample = draw(rollout, decoder.head, state, driven, chances, rules, with_earned=with_earned, given=given)
    return rollout, sample


@torch.no_grad()
def read_by(reward: Reward, references: Tensor, known: Tensor, samples: int = 1) -> RewardState:
    """The reward of known outputs [B·J, T], padded, at their ends."""
    state = adapted(repeat(reward.start(references), samples))
    for tokens in known.unbind(1):
        state.advance(tokens)
    return state


def propose_sampled(
    walked: Walked, sample: Sample, counted: Tensor, weights: Tensor, diagnostics: Diagnostics
) -> Proposal:
    """The positions of a sample that are `counted` [B, T], with weights [B, T], or [B, 1] for whole sequences."""
    time, row = counted.t().nonzero(as_tuple=True)  # time by time, as the rollout went
    features = walked.features().index_select(0, sample.places[row, time])
    coefficients = weights.expand_as(counted)[row, time].to(features.dtype)
    tokens = sample.tokens[row, time] if sample.targets is None else packed(sample.targets[row, time])
    return Proposal(tokens, features, coefficients, diagnostics, sets=tokens.ndim == 2)


def packed(targets: Tensor) -> Tensor:
    """Sets [N, K] without slots that none of them needs; sets of one are tokens, [N]."""
    most = int((targets != PAD).sum(1).max()) if len(targets) else 1
    ordered = targets.sort(1, descending=True).values  # `<pad>` is 0, and comes last
    return ordered[:, :most] if most > 1 else ordered[:, 0]


def equal_examples(sample: Sample, advantages: Tensor, examples: int) -> int:
    """How many of the examples have no token with an advantage [B·J, T], or [B·J, 1] for whole sequences."""
    teaches = (sample.tokens != PAD) & (advantages != 0)
    return examples - int(teaches.view(examples, -1).any(1).sum())


def diagnose(sample: Sample, references: Tensor, weight: float, advantages: Tensor | None = None) -> Diagnostics:
    """What the samples are like; a reward of weight W = 0 has chosen no token, although all of them count.

    `advantages` where samples are compared with a baseline.
    """
    written, driven = token_count(sample.tokens), int(sample.driven.sum()) if weight > 0 else 0
    return Diagnostics(
        samples=len(sample.tokens),
        sample_tokens=written,
        reference_tokens=reference_token_count(references, len(sample.tokens)),
        reward=float(sample.rewards.sum()),
        rewarded=len(sample.tokens),
        driven_tokens=driven,
        tied_tokens=int(sample.tied.sum()),
        model_tokens=written - driven,
        compared=0 if advantages is None else len(references),
        equal=0 if advantages is None else equal_examples(sample, advantages, len(references)),
    )


class SampledObjective(RewardedObjective):
    """A method that is the sampler at some settings, which may change from step to step."""

    def __init__(self, settings: SampledSettings, reward: Reward, max_length: int) -> None:
        super().__init__(settings, max_length)
        self.reward = reward

    def sampling(self, step: int) -> Sampling:
        raise NotImplementedError(f"{type(self).__name__} must define sampling()")

    def targets(self, decoder: Decoder, references: Tensor, step: int, generator: torch.Generator) -> Proposal:
        return spg(decoder, self.reward, references, self.max_length, self.sampling(step), generator)


def pg_sampling(settings: Pg) -> Sampling:
    """PG is SPG with W = 0, weighted by R."""
    return Sampling(0.0, settings.samples, True, settings.baseline, rules=Rules(weight=0.0))


def spg_sampling(settings: Spg) -> Sampling:
    """SPG is bang-bang SPG with p_drop = 0 and a finite W."""
    weighed = settings.weight_by_reward, settings.baseline, settings.ends
    return Sampling(0.0, settings.samples, *weighed, Rules(settings.reward_weight))


def bang_bang_sampling(settings: BangBang, step: int) -> Sampling:
    """Bang-bang SPG at a step of its schedule."""
    rules = Rules(settings.reward_weight, settings.ties, settings.temperature, settings.top_k)
    weighed = settings.weight_by_reward, settings.baseline, settings.ends
    lessons = settings.positions, settings.exact_ties
    way = settings.sampling, settings.max_passes
    return Sampling(settings.p_drop_at(step), settings.samples, *weighed, rules, *lessons, *way)


class PolicyGradient(SampledObjective):
    settings: Pg

    def sampling(self, step: int) -> Sampling:
        return pg_sampling(self.settings)


class SoftmaxPolicyGradient(SampledObjective):
    settings: Spg

    def sampling(self, step: int) -> Sampling:
        return spg_sampling(self.settings)


class BangBangPolicyGradient(SampledObjective):
    settings: BangBang

    def sampling(self, step: int) -> Sampling:
        return bang_bang_sampling(self.settings, step)
