"""One target as bang-bang SPG draws it, token by token: who chose, among what, and what it counts for.

Shapes: T time, V vocabulary, K candidates of the reward.
"""

import copy
import math
from typing import Literal, NamedTuple, Self

import torch
from torch import Tensor

from bangbang.explanation.subject import Subject
from bangbang.objectives import Rules, Sampling, draw
from bangbang.objectives.policy_gradients import Guides, bang_bang_weights, loss_weights
from bangbang.rewards import Increments, References, Sum, arg_max_set, dense, look_up
from bangbang.symbols import BOS, PAD


class Recording:
    """The state of a sum of rewards for one example, with all that it gave on the way."""

    def __init__(self, reward: Sum, references: Tensor) -> None:
        self.state = reward.begin(References.of(references))
        self.names = [type(part).__name__ for part in reward.parts]
        self.weights = reward.weights
        self.increments_at: list[Increments] = []
        """Before each token: the Δr of the candidates and of the rest."""
        self.parts_at: list[list[Increments]] = []
        """The same of each part of the sum, before its weight."""
        self.main_values: list[float] = []
        """After each token: R(z_{1:t} | y) of the main reward."""

    def increments(self) -> Increments:
        self.parts_at.append([on_cpu(part.increments()) for part in self.state.parts])
        given = self.state.increments()
        self.increments_at.append(on_cpu(given))
        return given

    def advance(self, tokens: Tensor) -> None:
        self.state.advance(tokens)
        self.main_values.append(float(self.main_value()))

    def value(self) -> Tensor:
        return self.state.value()

    def main_value(self) -> Tensor:
        return self.state.main_value()

    def loss_weight(self) -> Tensor:
        return self.state.loss_weight()

    def select(self, rows: Tensor) -> Self:
        """A state of these rows that writes on in the same record."""
        chosen = copy.copy(self)
        chosen.state = self.state.select(rows)
        return chosen

    def parts_of(self, t: int, token: int) -> dict[str, float]:
        """What each part gave for a token at step t, by the part's name; these add up to its Δr."""
        asked = torch.tensor([[token]])
        given = (float(look_up(each, asked)) for each in self.parts_at[t])
        return {name: weight * value for name, weight, value in zip(self.names, self.weights, given, strict=True)}


def on_cpu(increments: Increments) -> Increments:
    tokens, values, rest, *penalties = increments
    return Increments(
        tokens.cpu(), values.cpu(), rest.cpu(), *(None if part is None else part.cpu() for part in penalties)
    )


REWARDED, LIKELY = 6, 4  # candidates shown of each step: the best by reward, and the model's favourites


class Candidate(NamedTuple):
    """A token that could have come next."""

    token: str
    id: int
    delta_r: float
    """Δr: what it would have added to the reward, shaping included."""
    parts: dict[str, float]
    """Δr by the parts of the reward."""
    probability: float
    """p(v | x, z_{1:t-1}), of the model alone."""
    proposal: float
    """q̃(v | x, y, z_{1:t-1}, w_t): the chance that this token had to be drawn."""
    best: bool
    """Whether it is in the arg-max set of Δr: not forbidden, and no other adds more."""
    chosen: bool


class Step(NamedTuple):
    """How z_t came about."""

    token: str
    id: int
    chosen_by: Literal["reward", "model", "reference"]
    """`reward` where w_t = W, `model` where w_t = 0; `reference` where samples end with the reference, and this did."""
    in_loss: bool
    tied: bool
    """Whether the reward found other tokens as good, so that the model chose among them."""
    best_count: int
    """How many tokens are in the arg-max set."""
    delta_r: float
    probability: float
    rank: int
    """The token's place among all by the model's probability, from 1."""
    reward: float
    """R(z_{1:t} | y), of the main reward alone."""
    reference: str | None
    """y_t, None past the reference's end."""
    favourite: str
    """The model's likeliest token."""
    others_delta_r: float
    """Δr of every token that the reward does not tell apart."""
    others_probability: float
    """The probability of all these together."""
    candidates: list[Candidate]


class Trace(NamedTuple):
    steps: list[Step]
    text: str
    reward: float
    """R(z | y), of the main reward alone."""
    reference_reward: float
    """R(y | y)"""
    loss_weight: float
    log_p: float
    """log p(z | x)"""
    loss: float
    """-loss_weight · Σ log p(z_t | x, z_{1:t-1}) over the positions in the loss."""


@torch.no_grad()
def trace(subject: Subject, settings: Sampling, seed: int = 1) -> Trace:
    """Draw one target and tell how."""
    length, generator = subject.max_length, torch.Generator().manual_seed(seed)
    coins, chances = torch.rand(2, 1, length, generator=generator).to(subject.device)
    recording, guides = Recording(subject.reward, subject.references), Guides.of(subject.references, settings)
    sample = draw(
        subject.decoder.rollout(length),
        subject.decoder.head,
        recording,
        bang_bang_weights(coins, settings.p_drop),
        chances,
        settings.rules,
        *guides,
    )
    # from here on it is read number by number, on the CPU
    tokens, driven, tied = (field[0].cpu() for field in (sample.tokens, sample.driven, sample.tied))
    z = tokens[tokens != PAD]  # [T]
    log_p = all_log_probabilities(subject, z)  # [T, V]
    teller = Teller(subject, settings.rules, recording, None if guides.ends is None else int(guides.ends))
    steps = [teller.step(t, int(z[t]), log_p[t], bool(driven[t]), bool(tied[t])) for t in range(len(z))]
    own = log_p.gather(1, z.unsqueeze(1)).squeeze(1)
    # a baseline is other samples' reward: a single one has none
    weight = float(loss_weights(sample.shares, settings._replace(baseline="none")))
    return Trace(
        steps=steps,
        text=subject.text(z.tolist()),
        reward=float(sample.rewards[0]),
        reference_reward=float(subject.rewards(subject.y)),
        loss_weight=weight,
        log_p=float(own.sum()),
        loss=-weight * float(own[driven[: len(z)]].sum()),
    )


def all_log_probabilities(subject: Subject, z: Tensor) -> Tensor:
    """log p(v | x, z_{1:t-1}) of every token v after every prefix of z. [T, V]"""
    read = torch.cat((torch.tensor([BOS]), z[:-1])).unsqueeze(0).to(subject.device)
    return subject.decoder.head.logits(subject.decoder.unroll(read)[0]).log_softmax(1).cpu()


def proposal(log_p: Tensor, delta_r: Tensor, best: Tensor, z_t: int, driven: bool, rules: Rules) -> Tensor:
    """q̃(v) ∝ exp(log p(v) + w_t · Δr(v)) of every token v, as the sampler's rules change it; `best` is the arg-max
    set. [V]"""
    if not driven:
        logits = log_p / rules.temperature
        if 0 < rules.top_k < len(logits):
            logits = logits.masked_fill(logits < logits.topk(rules.top_k).values[-1], -torch.inf)
        return logits.softmax(0)
    if not math.isinf(rules.weight):
        return (log_p + rules.weight * delta_r).softmax(0)
    if rules.ties == "reference":
        return one_hot(z_t, len(log_p))
    return log_p.masked_fill(~best, -torch.inf).softmax(0)


def one_hot(token: int, size: int) -> Tensor:
    return torch.zeros(size).index_fill(0, torch.tensor(token), 1.0)


class Teller:
    """Puts what was recorded and what the model thinks into words."""

    def __init__(self, subject: Subject, rules: Rules, recording: Recording, end: int | None) -> None:
        """`end`: the number, from 1, of the token that is `</s>` whatever the reward and the model say."""
        self.subject, self.rules, self.recording, self.end = subject, rules, recording, end
        self.size = len(subject.run.vocabulary)

    def step(self, t: int, z_t: int, log_p: Tensor, driven: bool, tied: bool) -> Step:
        increments, y = self.recording.increments_at[t], self.subject.y[0].tolist()
        delta_r, p = dense(increments, self.size)[0], log_p.exp()
        known = torch.zeros_like(p, dtype=torch.bool).index_fill(0, increments.tokens[0], True)
        possible = torch.ones_like(known).index_fill(0, torch.tensor([PAD, BOS]), False)
        best = dense(Increments(increments.tokens, *arg_max_set(increments)), self.size)[0] & possible
        given = t + 1 == self.end
        q = one_hot(z_t, len(p)) if given else proposal(log_p, delta_r, best, z_t, driven, self.rules)
        shown = self.worth_showing(increments, delta_r, best, p, z_t, y[t] if t < len(y) else None)
        return Step(
            token=self.subject.word(z_t),
            id=z_t,
            chosen_by="reference" if given else "reward" if driven else "model",
            in_loss=driven,
            tied=tied,
            best_count=int(best.sum()),
            delta_r=float(delta_r[z_t]),
            probability=float(p[z_t]),
            rank=1 + int((p > p[z_t]).sum()),
            reward=self.recording.main_values[t],
            reference=self.subject.word(y[t]) if t < len(y) else None,
            favourite=self.subject.word(int(p.argmax())),
            others_delta_r=float(increments.total.rest[0]),
            others_probability=float(p[~known & possible].sum()),
            candidates=[
                Candidate(
                    token=self.subject.word(v),
                    id=v,
                    delta_r=float(delta_r[v]),
                    parts=self.recording.parts_of(t, v),
                    probability=float(p[v]),
                    proposal=float(q[v]),
                    best=bool(best[v]),
                    chosen=v == z_t,
                )
                for v in shown
            ],
        )

    def worth_showing(
        self, increments: Increments, delta_r: Tensor, best: Tensor, p: Tensor, z_t: int, y_t: int | None
    ) -> list[int]:
        """The best tokens by reward, the model's favourites, z_t and y_t; the arg-max set first, then by falling Δr,
        then by probability."""

        def merit(v: int) -> tuple[bool, float, float]:
            return not best[v], -float(delta_r[v]), -float(p[v])

        rewarded = sorted((v for v in increments.tokens[0].tolist() if v != PAD), key=merit)[:REWARDED]
        chosen = {*rewarded, *p.topk(LIKELY).indices.tolist(), z_t, *([] if y_t is None else [y_t])}
        return sorted(chosen, key=merit)
