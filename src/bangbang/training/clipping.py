"""An update by scaled and clipped gradients, without a pass over them of its own.

The gradients of a mean are those of a sum times a number, and clipped gradients are the gradients times another. The
fused optimisers read every gradient anyway, and divide it on the way by their `grad_scale`. Others ignore it or refuse
it, so for them the gradients are multiplied here.
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
    if not all(group.get("fused") for group in optimizer.param_groups):
        scale_gradients(optimizer, share * factor)
        optimizer.step()
        return
    optimizer.grad_scale = 1 / (share * factor).float()  # type: ignore[attr-defined]
    optimizer.step()
    del optimizer.grad_scale  # type: ignore[attr-defined]


def scale_gradients(optimizer: torch.optim.Optimizer, factor: Tensor) -> None:
    """All gradients times `factor`, in place."""
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.grad is not None:
                parameter.grad.mul_(factor)
