"""What a position of a bang-bang sample teaches, where it is not the token that was sampled there.

Whether the reward or the model chooses z_t is a coin that is independent of the prefix. So the reward's choice v_t for
the prefix may be taught at every position, the token that the sample goes on with staying z_t:

    E[Σ_{t: w_t ≠ 0} ∂log p(z_t | z_{1:t-1})] = (1 - p_drop) · E[Σ_t ∂log p(v_t | z_{1:t-1})]

And v_t that the model draws from the arg-max set S may give way to the whole set, as their mean is the same:

    Σ_{v in S} p(v) / p(S) · ∂log p(v) = ∂log p(S)

Shapes: R rows, K candidates, T time.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from bangbang.contracts import FeatureRows, Head, Increments
from bangbang.objectives.choice import Rules, choose
from bangbang.rewards import arg_max_set
from bangbang.symbols import PAD


class Lessons(NamedTuple):
    chances: Tensor | None = None  # [R, T] uniform numbers of v_t where the model chose z_t; None: v_t is not asked for
    sets: bool = False  # whether the arg-max set is taught

    def select(self, rows: Tensor) -> "Lessons":
        return self._replace(chances=None if self.chances is None else self.chances[rows])


def left_over_chances(coins: Tensor, p_drop: float) -> Tensor:
    """Where u < p_drop, u / p_drop is uniform again, and independent of all else."""
    return (coins / p_drop).clamp(max=1 - 2**-24) if p_drop else coins


def taught(
    lessons: Lessons,
    t: int,
    head: Head,
    features: FeatureRows,
    increments: Increments,
    tokens: Tensor,
    choosing: Tensor,
    driven: Tensor,
    rules: Rules,
    order: Tensor | None,
) -> Tensor:
    """What each row is taught at time t, where z_t = `tokens` [R]: one token [R, 1] or a set [R, K].

    A set with "every other token" in it is too large to be listed: one token that is drawn from it stands for it.
    """
    best = arg_max_set(increments) if lessons.sets else None
    if lessons.chances is not None:
        asked = choosing & ~driven
        needed = asked if best is None else asked & best.rest
        chosen = choose(head, features, increments, needed, asked, lessons.chances[:, t], rules, order)
        tokens = chosen.tokens.where(needed, tokens)
    if best is None:
        return tokens.unsqueeze(1)
    listed = (choosing & ~best.rest).unsqueeze(1)
    members = increments.tokens.where(best.candidates & listed, PAD)
    return torch.cat((members, tokens.unsqueeze(1).masked_fill(listed, PAD)), 1)
