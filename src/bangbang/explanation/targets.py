"""What each method trains on: many targets for one example, between the reference and the model (the paper's figure 1).

Shapes: N samples, T time.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from bangbang import memory
from bangbang.explanation.subject import Subject
from bangbang.objectives import BangBang, ObjectiveSettings, Pg, Raml, Sampling, Spg, draw
from bangbang.objectives.policy_gradients import (
    Guides,
    bang_bang_sampling,
    bang_bang_weights,
    pg_sampling,
    spg_sampling,
)
from bangbang.objectives.reward_augmented import hamming_targets, reward_targets
from bangbang.randomness import seed_for
from bangbang.rewards import repeat
from bangbang.symbols import EOS, PAD


class Methods(NamedTuple):
    """What is compared with maximum likelihood, which has no settings."""

    raml: Raml
    bbspg: Sampling
    spg: Sampling
    pg: Sampling

    @classmethod
    def of(
        cls, own: ObjectiveSettings, step: int, p_drop: float | None = None, weight: float | None = None
    ) -> "Methods":
        """`p_drop` of bang-bang SPG and the finite `weight` W of SPG, where given, take the place of the run's own."""
        raml = own if isinstance(own, Raml) else Raml()
        return cls(raml, bang_bang(own, step, p_drop), finite_spg(own, weight), pg_sampling(Pg()))


def bang_bang(own: ObjectiveSettings, step: int, p_drop: float | None = None) -> Sampling:
    """Bang-bang SPG as the run has it at a step of its stage."""
    settings = own if isinstance(own, BangBang) else BangBang()
    if p_drop is not None:
        settings = replace(settings, p_drop=p_drop, p_drop_delay=0, p_drop_rise=0)
    return bang_bang_sampling(settings, step)


def finite_spg(own: ObjectiveSettings, weight: float | None = None) -> Sampling:
    settings = own if isinstance(own, Spg) else Spg()
    return spg_sampling(settings if weight is None else replace(settings, reward_weight=weight))


class Target(NamedTuple):
    text: str
    times: int
    """How many of the samples it is."""
    reward: float
    """R(z | y), of the main reward."""
    log_p: float
    """log p(z | x)"""
    ended: bool
    """Whether `</s>` came before the length limit."""


class Targets(NamedTuple):
    """A method's samples, the same ones counted together, most frequent first."""

    method: str
    about: str
    targets: list[Target]

    def mean(self, field: str) -> float:
        return sum(each.times * float(getattr(each, field)) for each in self.targets) / self.samples

    @property
    def samples(self) -> int:
        return sum(each.times for each in self.targets)


@torch.no_grad()
def draw_targets(subject: Subject, methods: Methods, samples: int, seed: int = 1) -> Iterator[Targets]:
    """`samples` targets of each method, one method after the other, from the reference's side to the model's."""

    needed = samples * subject.max_length * memory.SAMPLED_TOKEN
    memory.require(needed, f"{samples:,} samples", "lower --samples")

    def generator(method: str) -> torch.Generator:
        return torch.Generator().manual_seed(seed_for(seed, method))

    yield count_up(subject, "MLE", "the reference", subject.y.repeat(samples, 1))
    drawn = reward_samples(subject, methods.raml, samples, generator("RAML"))
    yield count_up(subject, "RAML", f"the reward alone, τ = {methods.raml.tau:g}", drawn)
    chance = f"p_drop = {methods.bbspg.p_drop:g}"
    drawn = sampled(subject, methods.bbspg, samples, generator("bang-bang SPG"))
    yield count_up(subject, "bang-bang SPG", f"now reward, now model, {chance}", drawn)
    drawn = sampled(subject, methods.spg, samples, generator("SPG"))
    yield count_up(subject, "SPG", f"reward and model, W = {methods.spg.rules.weight:g}", drawn)
    drawn = sampled(subject, methods.pg, samples, generator("PG"))
    yield count_up(subject, "PG", "the model alone", drawn)


def reward_samples(subject: Subject, config: Raml, samples: int, generator: torch.Generator) -> Tensor:
    """Targets by the reward alone. [N, T]"""
    vocabulary_size = len(subject.run.vocabulary)
    if config.payoff == "reward":
        state = repeat(subject.reward.start(subject.references), samples)
        return reward_targets(state, subject.max_length, config.tau, vocabulary_size, generator)
    return hamming_targets(subject.y.repeat(samples, 1), config.tau, vocabulary_size, generator)


def sampled(subject: Subject, settings: Sampling, samples: int, generator: torch.Generator) -> Tensor:
    """Targets by forward-pass sampling. [N, T]"""
    length, references = subject.max_length, subject.references
    coins, chances = torch.rand(2, samples, length, generator=generator).to(subject.device)
    sample = draw(
        subject.decoder.repeat(samples).rollout(length),
        subject.decoder.head,
        repeat(subject.reward.start(references), samples),
        bang_bang_weights(coins, settings.p_drop),
        chances,
        settings.rules,
        *Guides.of(references, settings._replace(samples=samples)),
    )
    return sample.tokens


def count_up(subject: Subject, method: str, about: str, drawn: Tensor) -> Targets:
    counts = Counter(tuple(token for token in row if token != PAD) for row in drawn.tolist())
    unique = sorted(counts, key=lambda tokens: (-counts[tokens], tokens))
    rows = torch.nn.utils.rnn.pad_sequence([torch.tensor(tokens) for tokens in unique], True, PAD)  # [U, T]
    rows = rows.to(subject.device)
    scored = zip(unique, subject.rewards(rows).tolist(), subject.log_probabilities(rows).tolist(), strict=True)
    found = [
        Target(subject.text(list(tokens)), counts[tokens], reward, log_p, tokens[-1] == EOS)
        for tokens, reward, log_p in scored
    ]
    return Targets(method, about, found)
