"""Dropout whose noise is cheap on CPUs."""

import torch
from torch import Tensor, nn

LEVELS = 2**16


def keep_mask(like: Tensor, rate: float) -> Tensor:
    """1/(1 - rate) where an activation is kept, 0 where it is dropped, from torch's global generator.

    `torch.nn.functional.dropout` draws one Bernoulli variable per element, which on a CPU takes four times as long as
    all the rest. Here one 64-bit draw serves four elements, so the rate is rounded to a multiple of 1/65536 and the
    scale is that of the rounded rate.
    """
    dropped = round(rate * LEVELS)
    count = like.numel()
    bits = torch.empty((count + 3) // 4, dtype=torch.int64, device=like.device).random_(-(2**63), None)
    kept = bits.view(torch.int16)[:count].view(like.shape) >= dropped - LEVELS // 2
    return kept.to(like.dtype).mul_(LEVELS / (LEVELS - dropped))


def noted_dropout(activations: Tensor, rate: float, masks: list[Tensor]) -> Tensor:
    """Dropout whose mask is added to `masks`; none at a rate of 0."""
    if not rate:
        return activations
    masks.append(keep_mask(activations, rate))
    return activations * masks[-1]


class Dropout(nn.Module):
    def __init__(self, rate: float) -> None:
        super().__init__()
        if not 0 <= rate < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, not {rate}")
        self.rate = rate

    def forward(self, activations: Tensor) -> Tensor:
        if not self.training or self.rate == 0:
            return activations
        return activations * keep_mask(activations, self.rate)
