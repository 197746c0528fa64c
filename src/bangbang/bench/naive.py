"""Bang-bang SPG as one would write it first: what our sampler and loss are measured against.

All logits of a step are computed whatever w_t is, noise over the whole vocabulary picks every token, finished rows go
on, and a second pass over the sampled tokens, with all logits kept, gives the loss.

Shapes: B batch, T time, V vocabulary.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from bangbang.data import Batch
from bangbang.models import SequenceModel
from bangbang.objectives.sampler import part_values
from bangbang.rewards import Sum, dense
from bangbang.symbols import BOS, EOS, PAD

LARGE = 10_000.0  # the paper's W


def naive_loss(
    model: SequenceModel[Any], batch: Batch, reward: Sum, max_length: int, p_drop: float, generator: torch.Generator
) -> tuple[Tensor, int]:
    """The sum of the losses of the positions with w_t ≠ 0, and the number of tokens that were decoded."""
    state = model.encode(batch.source, batch.source_length)
    rewards = reward.start(batch.target)
    last, alive = torch.full_like(batch.target[:, 0], BOS), torch.ones_like(batch.target[:, 0], dtype=torch.bool)
    tokens, counted = [], []
    with torch.no_grad():
        walk = state
        for _ in range(max_length):
            walk, features = model.step(walk, last)
            log_p = model.head.logits(features).log_softmax(1)  # [B, V]
            increments = dense(rewards.increments(), log_p.shape[1])
            kept = torch.rand(len(last), generator=generator) >= p_drop
            noise = -torch.log(-torch.log(torch.rand(log_p.shape, generator=generator)))
            last = (log_p + LARGE * increments * kept[:, None] + noise).argmax(1)
            last = last.where(alive, torch.full_like(last, PAD))
            tokens.append(last)
            counted.append(kept & alive)
            rewards.advance(last)
            alive = alive & (last != EOS)
            if not bool(alive.any()):
                break
    targets = torch.stack(tokens, 1)  # [B, T]
    reading = torch.cat((torch.full_like(targets[:, :1], BOS), targets[:, :-1]), 1)
    features = model.unroll(state, reading)
    logits = model.head.logits(features.flatten(0, 1))  # [B·T, V]
    losses = F.cross_entropy(logits, targets.flatten(), reduction="none", ignore_index=PAD).view_as(targets)
    weights = torch.stack(counted, 1) * part_values(rewards)[:, :1]
    return (losses * weights).sum(), int((targets != PAD).sum())
