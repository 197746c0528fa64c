"""An update by scaled and clipped gradients, without a pass over them of its own.

The gradients of a mean are those of a sum times a number, and clipped gradients are the gradients times another. The
fused optimisers read every gradient anyway, and divide it on the way by their `grad_scale`.
"""

from collections.abc import Iterable

import torch
from torch import Tensor, nn


def gradient_norm(parameters: Iterable[nn.Parameter], factor: Tensor | float = 1.0) -> Tensor:
    """The joint norm of all gradients times `factor`."""
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    return torch.nn.utils.get_total_norm(gradients) * factor


def clipped_step(optimizer: torch.optim.Optimizer, factor: Tensor | float, norm: Tensor, max_norm: float) -> None:
    """Update by `factor` times the gradients, less if their `norm` after it is above `max_norm`."""
    share = (max_norm / (norm + 1e-6)).clamp(max=1.0)  # as torch.nn.utils.clip_grad_norm_ does
    optimizer.grad_scale = 1 / (share * factor).float()  # type: ignore[attr-defined]
    optimizer.step()
    del optimizer.grad_scale  # type: ignore[attr-defined]
