"""Gradient clipping that leaves gradients alone where there is nothing to clip."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn


def clip_gradients(parameters: Iterable[nn.Parameter], max_norm: float) -> Tensor:
    """Scale all gradients so that their joint norm is at most `max_norm`; returns the norm they had.

    `torch.nn.utils.clip_grad_norm_` multiplies by 1 where the norm is small: a pass over all gradients for nothing.
    """
    clipped = [parameter for parameter in parameters if parameter.grad is not None]
    norm = torch.nn.utils.get_total_norm([parameter.grad for parameter in clipped if parameter.grad is not None])
    if norm > max_norm:
        torch.nn.utils.clip_grads_with_norm_(clipped, max_norm, norm)
    return norm
