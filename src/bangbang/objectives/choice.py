"""One token per row from q̃ ∝ exp(log p + w·Δr): the heart of the sampler (section 3.1, and 3.2 where w is 0 or W).

Where w = 0 the model chooses. Where w = W and W is infinite, exactly the tokens of the arg-max set are possible, and
the model chooses among them. Only where "every other token" is among the best, or W is finite, does the choice need the
whole vocabulary; else the logits of the tied candidates do, or none at all if the best is a single one.

Shapes: R rows, K candidates, D features.
"""

import math
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from bangbang.contracts import FeatureRows, Head, Increments, Offsets
from bangbang.precision import widest_float
from bangbang.rewards import Best, arg_max_set
from bangbang.symbols import PAD


class Rules(NamedTuple):
    """How tokens are chosen."""

    weight: float = math.inf
    """W, the weight of the reward increments; infinite means the arg-max set exactly."""
    ties: Literal["model", "reference"] = "model"
    """Who chooses among the best tokens: the model, or the order in the reference."""
    temperature: float = 1.0
    """Of the model where it chooses alone."""
    top_k: int = 0
    """The model, where it chooses alone, draws from so many likeliest tokens; 0 means all."""

    @property
    def plain(self) -> bool:
        return self.temperature == 1.0 and self.top_k == 0


class Choice(NamedTuple):
    tokens: Tensor  # [R]
    tied: Tensor  # [R] whether a reward-driven token had equals


def choose(
    head: Head,
    features: FeatureRows,
    increments: Increments,
    alive: Tensor,
    driven: Tensor,
    uniform: Tensor,
    rules: Rules,
    order: Tensor | None = None,
) -> Choice:
    """One token for each row that is `alive` [R], `<pad>` for the others.

    `driven` [R] says where w = W, `uniform` [R] are the rows' random numbers, `order` [R, K] is each candidate's place
    in the reference.
    """
    driven = driven & alive
    best: Best | None = None
    if math.isinf(rules.weight):
        best = arg_max_set(increments)
        size = best.candidates.sum(1)
        several = driven & (size > 1)
        among_few = driven & ~best.rest if rules.ties == "model" else driven & (size > 0)
        tied = several | (driven & best.rest)
        slot = choose_slot(head, features, increments, best.candidates, uniform, several & among_few, rules, order)
        tokens = increments.tokens.gather(1, slot.unsqueeze(1)).squeeze(1).where(among_few, PAD)
    else:
        among_few = tied = torch.zeros_like(driven)
        tokens = torch.full_like(driven, PAD, dtype=torch.long)
    for rows, temperature, top_k in full_draws(alive, driven, among_few, rules):
        if len(rows) == 0:
            continue
        chosen_by_reward = driven[rows]
        offsets = reward_offsets(increments, best, rows, chosen_by_reward, rules) if chosen_by_reward.any() else None
        tokens[rows] = head.sample(features[rows], uniform[rows], offsets, temperature, top_k)
    return Choice(tokens, tied)


def choose_alone(head: Head, features: FeatureRows, alive: Tensor, uniform: Tensor) -> Choice:
    """The model's choice for each row that is `alive` [R], where no reward has a say."""
    rows, tokens = alive.nonzero().squeeze(1), torch.full_like(alive, PAD, dtype=torch.long)
    if len(rows):
        tokens[rows] = head.sample(features[rows], uniform[rows])
    return Choice(tokens, torch.zeros_like(alive))


def reward_offsets(increments: Increments, best: Best | None, rows: Tensor, driven: Tensor, rules: Rules) -> Offsets:
    """What the reward adds to the logits of some rows, relative to the rest of the vocabulary: W·(Δr - Δr of the rest),
    or -inf outside the arg-max set; nothing where the model chooses alone."""
    tokens = increments.tokens[rows]
    if best is None:
        delta_r = increments.total
        shift = rules.weight * (delta_r.values - delta_r.rest[:, None])[rows]
    else:
        shift = torch.zeros_like(increments.values[rows]).masked_fill(~best.candidates[rows], -torch.inf)
    return Offsets(tokens, shift.masked_fill((tokens == PAD) | ~driven[:, None], 0.0))


def full_draws(alive: Tensor, driven: Tensor, among_few: Tensor, rules: Rules) -> list[tuple[Tensor, float, int]]:
    """The rows that need the whole vocabulary, in one product if they are all drawn alike."""
    if rules.plain:
        return [((alive & ~among_few).nonzero().squeeze(1), 1.0, 0)]
    return [
        ((alive & ~driven).nonzero().squeeze(1), rules.temperature, rules.top_k),
        ((driven & ~among_few).nonzero().squeeze(1), 1.0, 0),
    ]


def choose_slot(
    head: Head,
    features: FeatureRows,
    increments: Increments,
    best: Tensor,
    uniform: Tensor,
    several: Tensor,
    rules: Rules,
    order: Tensor | None,
) -> Tensor:
    """A candidate of the set `best` [R, K] for each row; logits matter only where there are `several` [R]."""
    if rules.ties == "reference":
        assert order is not None
        return order.masked_fill(~best, torch.iinfo(order.dtype).max).argmin(1)
    slot = best.int().argmax(1)
    rows = several.nonzero().squeeze(1)
    if len(rows):
        logits = head.candidate_logits(features[rows], increments.tokens[rows])
        precision = widest_float(logits.device)
        mass = logits.masked_fill(~best[rows], -torch.inf).to(precision).softmax(1).cumsum(1)
        point = torch.searchsorted(mass, uniform[rows].to(precision).unsqueeze(1) * mass[:, -1:], right=True)
        # rounding may point past the last one that is possible
        slot[rows] = torch.minimum(point, (mass < mass[:, -1:]).sum(1, keepdim=True)).squeeze(1)
    return slot
