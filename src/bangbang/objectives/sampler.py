"""Forward-pass sampling: z_t ~ q̃(z_t | x, y, z_{1:t-1}, w_t) for t = 1 ... T, for a whole batch (Algorithm 1).

Shapes: B rows to sample, R of them that the rollout still holds, T time, N positions of the rollout.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from bangbang.heads import VocabularyHead
from bangbang.objectives.choice import Choice, Rules, choose
from bangbang.objectives.decoder import Rollout
from bangbang.rewards import RewardState
from bangbang.symbols import BOS, EOS, PAD

# A rollout leaves finished rows behind once they are this share of what it holds: each time costs a copy of its memory.
DONE_SHARE = 0.5


class Sample(NamedTuple):
    """Sequences z and how they came about. What has time in it is [B, T] and padded after `</s>`."""

    tokens: Tensor  # z, `<pad>` after its end
    driven: Tensor  # whether w_t ≠ 0
    tied: Tensor  # whether a reward-driven token had equals
    log_p: Tensor  # of model-driven tokens, else NaN
    places: Tensor  # where the position stands among the rollout's features
    values: Tensor  # [B, P] R(z | y), for each part of the reward


class Trace:
    """A sample in the making."""

    def __init__(self, driven: Tensor, parts: int) -> None:
        self.tokens = torch.full_like(driven, PAD, dtype=torch.long)
        self.driven, self.tied = driven, torch.zeros_like(driven)
        self.log_p = torch.full_like(driven, torch.nan, dtype=torch.float32)
        self.places = torch.zeros_like(driven, dtype=torch.long)
        self.values = torch.zeros(len(driven), parts, device=driven.device)

    def add(self, t: int, rows: Tensor, choice: Choice, places: Tensor) -> None:
        self.tokens[rows, t], self.tied[rows, t] = choice.tokens, choice.tied
        self.log_p[rows, t], self.places[rows, t] = choice.log_p.float(), places

    def sample(self) -> Sample:
        written = self.tokens != PAD
        return Sample(self.tokens, self.driven & written, self.tied, self.log_p, self.places, self.values)


@torch.no_grad()
def draw(
    rollout: Rollout,
    head: VocabularyHead,
    reward: RewardState,
    driven: Tensor,
    uniform: Tensor,
    rules: Rules,
    references: Tensor | None = None,
) -> Sample:
    """One sequence per row: `driven` [B, T] is w_t ≠ 0, `uniform` [B, T] the random numbers of the choices.

    `references` [B, S] are needed where ties go to the reference's order.
    """
    rows = torch.arange(len(driven), device=driven.device)  # [R] the row of the sample that each of the rollout's is
    alive, last, seen = torch.ones_like(rows, dtype=torch.bool), torch.full_like(rows, BOS), 0
    trace = Trace(driven, part_values(reward).shape[1])
    for t in range(driven.shape[1]):
        features = rollout.step(last)
        going = alive.nonzero().squeeze(1)
        increments = reward.increments()
        order = None if references is None else places_in(references[rows], increments.tokens)[going]
        chances = uniform[rows, t][going]
        open_increments = type(increments)(*(field[going] for field in increments))
        choice = choose(head, features[going], open_increments, driven[rows, t][going], chances, rules, order)
        trace.add(t, rows[going], choice, seen + going)
        last = torch.full_like(last, PAD).index_copy(0, going, choice.tokens)
        reward.advance(last)
        seen += len(rows)
        alive = alive & (last != EOS)
        left = int(alive.sum())
        if left == 0:
            break
        if left <= (1 - DONE_SHARE) * len(rows):
            trace.values[rows] = part_values(reward)
            kept = alive.nonzero().squeeze(1)
            rollout.keep(kept)
            reward, rows, last, alive = reward.select(kept), rows[kept], last[kept], alive[kept]
    trace.values[rows] = part_values(reward)
    return trace.sample()


def part_values(reward: RewardState) -> Tensor:
    """R(z | y) of the parts of a sum, the main reward first; of any other reward its one value. [R, P]"""
    parts = getattr(reward, "parts", (reward,))
    return torch.stack([part.value().float() for part in parts], 1)


def places_in(references: Tensor, tokens: Tensor) -> Tensor:
    """The first place of each token in its row's reference, the reference's length if it is not there. [R, K]"""
    same = tokens[:, :, None] == references[:, None, :]  # [R, K, S]
    return same.int().argmax(2).masked_fill(~same.any(2), references.shape[1])
