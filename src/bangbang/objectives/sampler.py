"""Forward-pass sampling: z_t ~ q̃(z_t | x, y, z_{1:t-1}, w_t) for t = 1 ... T, for a whole batch (Algorithm 1).

Shapes: B rows to sample, R of them that the rollout still holds, T time, N positions of the rollout.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from bangbang.contracts import Head, Walk
from bangbang.objectives.choice import Choice, Rules, choose, choose_alone
from bangbang.objectives.lessons import Lessons, taught
from bangbang.rewards import PlainState, RewardState, adapted, read
from bangbang.symbols import BOS, EOS, PAD

# A rollout leaves finished rows behind once they are this share of what it holds, unless it holds few: each time costs
# a copy of its memory, and a step of a few rows costs as much as one of half as many.
DONE_SHARE, FEW = 0.5, 16


class Sample(NamedTuple):
    """Sequences z and how they came about. What has time in it is [B, T] and padded after `</s>`."""

    tokens: Tensor  # z, `<pad>` after its end
    driven: Tensor  # whether w_t ≠ 0
    tied: Tensor  # whether a reward-driven token had equals
    places: Tensor  # where the position stands among the rollout's features
    rewards: Tensor  # [B] R(z | y) of the main reward, in its own scale
    shares: Tensor  # [B] the same between 0 and 1, which weighs the loss
    earned: Tensor | None = None  # that of the prefix before each token, where it was asked for
    targets: Tensor | None = None  # [B, T, K] what each position teaches, where it may be another than z_t


class SampleRecord:
    """A sample in the making. Steps of the same rows are noted as they are, and filed together."""

    def __init__(self, driven: Tensor) -> None:
        self.tokens = torch.full_like(driven, PAD, dtype=torch.long)
        self.driven, self.tied = driven, torch.zeros_like(driven)
        self.places = torch.zeros_like(driven, dtype=torch.long)
        self.rewards, self.shares = torch.zeros(2, len(driven), device=driven.device)
        self.earned: Tensor | None = None
        self.noted: list[Choice] = []
        self.lessons: list[tuple[Tensor, Tensor]] = []  # of each step: rows [R] and what they are taught [R, K]
        self.filed, self.seen = 0, 0  # steps; positions of the rollout before those that are noted

    def file(self, rows: Tensor, reward: RewardState | None) -> None:
        """The noted steps [R] were those of these rows, and this is their reward, if it is known."""
        if not self.noted:
            return
        start, end = self.filed, self.filed + len(self.noted)
        tokens, tied = (torch.stack(part, 1) for part in zip(*self.noted, strict=True))  # [R, steps]
        self.tokens[rows, start:end], self.tied[rows, start:end] = tokens, tied
        places = torch.arange(self.seen, self.seen + tokens.numel(), device=tokens.device)
        self.places[rows, start:end] = places.view(-1, len(rows)).t()
        if reward is not None:
            self.rewards[rows], self.shares[rows] = reward.main_value().float(), reward.loss_weight().float()
        self.filed, self.seen, self.noted = end, self.seen + tokens.numel(), []

    def read_by(self, reward: RewardState, with_earned: bool) -> None:
        """All of it is written: its reward, from empty prefixes on; `with_earned`, also before each token."""
        tokens = self.tokens[:, : self.filed]
        if with_earned:
            self.earned = torch.zeros_like(self.tokens, dtype=torch.float)
            self.earned[:, : self.filed] = read(reward, tokens)
        else:
            for each in tokens.unbind(1):
                reward.advance(each)
        self.rewards, self.shares = reward.main_value().float(), reward.loss_weight().float()

    def sample(self) -> Sample:
        written = self.tokens != PAD
        driven = self.driven & written
        rewards = self.rewards, self.shares, self.earned
        return Sample(self.tokens, driven, self.tied, self.places, *rewards, self.targets())

    def targets(self) -> Tensor | None:
        """The lessons of all steps [B, T, K]; `<pad>` in unused slots."""
        if not self.lessons:
            return None
        found = self.tokens.new_full((*self.tokens.shape, max(each.shape[1] for _, each in self.lessons)), PAD)
        for t, (rows, each) in enumerate(self.lessons):
            found[rows, t, : each.shape[1]] = each
        return found


@torch.no_grad()
def draw(
    walk: Walk,
    head: Head,
    reward: PlainState,
    driven: Tensor,
    uniform: Tensor,
    rules: Rules,
    references: Tensor | None = None,
    ends: Tensor | None = None,
    with_earned: bool = False,
    lessons: Lessons | None = None,
    given: Tensor | None = None,
) -> Sample:
    """One sequence per row: `driven` [B, T] is w_t ≠ 0, `uniform` [B, T] the random numbers of the choices.

    `references` [B, S] are needed where ties go to the reference's order. Where `ends` [B] are given, the token of that
    number, counted from 1, is `</s>`; it is trained on as any other, where w_t ≠ 0.
    `with_earned` keeps the share of the reward before each token, where the model chooses all of them. `lessons` are
    what else than z_t positions teach.
    `given` [B, T] is how each row begins, which nobody chooses; `<pad>` after it.
    """
    rows = torch.arange(len(driven), device=driven.device)  # [R] the row of the sample that each of the rollout's is
    alive, last = torch.ones_like(rows, dtype=torch.bool), torch.full_like(rows, BOS)
    trace, begun = SampleRecord(driven), adapted(reward)
    # where the model chooses by itself, the reward has no say: it reads the whole sample afterwards
    alone = rules.weight == 0 and rules.plain and lessons is None
    guide = None if alone else begun
    for t in range(driven.shape[1]):
        features = walk.step(last)
        ending = None if ends is None else alive & (ends == t + 1)
        choosing = alive if ending is None else alive & ~ending
        put = None if given is None else given[:, t]
        choosing = choosing if put is None else choosing & (put == PAD)
        if guide is None:
            choice = choose_alone(head, features, choosing, uniform[:, t])
        else:
            increments = guide.increments()
            order = None if references is None else places_in(references, increments.tokens)
            choice = choose(head, features, increments, choosing, driven[:, t], uniform[:, t], rules, order)
        if ending is not None:
            choice = choice._replace(tokens=choice.tokens.masked_fill(ending, EOS))
        if put is not None:
            choice = choice._replace(tokens=choice.tokens.where(put == PAD, put))
        trace.noted.append(choice)
        if lessons is not None:
            told = taught(lessons, t, head, features, increments, choice.tokens, choosing, driven[:, t], rules, order)
            trace.lessons.append((rows, told))
        last = choice.tokens
        if guide is not None:
            guide.advance(last)
        alive = alive & (last != EOS)
        left = int(alive.sum())
        if left == 0:
            break
        if left <= (1 - DONE_SHARE) * len(rows) and len(rows) >= FEW:
            trace.file(rows, guide)
            kept = alive.nonzero().squeeze(1)
            walk.keep(kept)
            guide = None if guide is None else guide.select(kept)
            rows, last, alive = rows[kept], last[kept], alive[kept]
            driven, uniform = driven[kept], uniform[kept]
            references = None if references is None else references[kept]
            ends = None if ends is None else ends[kept]
            lessons = None if lessons is None else lessons.select(kept)
            given = None if given is None else given[kept]
    trace.file(rows, guide)
    if guide is None:
        trace.read_by(begun, with_earned)
    return trace.sample()


def places_in(references: Tensor, tokens: Tensor) -> Tensor:
    """The first place of each token in its row's reference, the reference's length if it is not there. [R, K]"""
    same = tokens[:, :, None] == references[:, None, :]  # [R, K, S]
    return same.int().argmax(2).masked_fill(~same.any(2), references.shape[1])
