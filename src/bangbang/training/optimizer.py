"""The optimiser, its learning rate as a pure function of the step, and updates by scaled and clipped gradients.

The gradients of a mean are those of a sum times a number, and clipped gradients are the gradients times another. The
fused optimisers read every gradient anyway, and divide it on the way by their `grad_scale`.
"""

import math
from collections.abc import Iterable
from typing import Literal

import torch
from torch import Tensor, nn

from bangbang.training.settings import OptimizerSettings

# The lowest torch with a fused kernel that divides gradients by `grad_scale` (see clipping.py), by kind and device.
# Other devices are left out: some have fused kernels too, but none was seen to do this.
FUSED_SINCE = {
    ("adagrad", "cpu"): (2, 4),
    ("adagrad", "cuda"): (2, 12),
    ("adamw", "cpu"): (2, 4),
    ("adamw", "cuda"): (2, 0),
}


def can_be_fused(kind: Literal["adagrad", "adamw"], device: str, version: tuple[int, int]) -> bool:
    """Whether a torch of that version has a fused optimiser, as we use it, for a device such as "cuda"."""
    since = FUSED_SINCE.get((kind, device))
    return since is not None and version >= since


def torch_version() -> tuple[int, int]:
    major, minor = torch.__version__.split(".")[:2]
    return int(major), int(minor)


def build_optimizer(parameters: Iterable[nn.Parameter], config: OptimizerSettings) -> torch.optim.Optimizer:
    parameters = list(parameters)
    # fused: one pass over parameters, gradients and state instead of one per operation (8 times faster on a CPU)
    fused = all(can_be_fused(config.kind, parameter.device.type, torch_version()) for parameter in parameters)
    if config.kind == "adagrad":
        return torch.optim.Adagrad(
            parameters,
            lr=config.learning_rate,
            weight_decay=config.weight_decay,
            initial_accumulator_value=config.initial_accumulator,
            fused=fused,
        )
    return torch.optim.AdamW(parameters, lr=config.learning_rate, weight_decay=config.weight_decay, fused=fused)


def learning_rate(step: int, max_steps: int, config: OptimizerSettings) -> float:
    """The rate of step 0, 1, ...: linear warm-up, then constant or a cosine to zero at `max_steps`, a stage's own."""
    rate = config.learning_rate
    if step < config.warmup_steps:
        return rate * (step + 1) / config.warmup_steps
    if config.decay == "cosine":
        done = (step - config.warmup_steps) / max(1, max_steps - config.warmup_steps)
        return rate * 0.5 * (1 + math.cos(math.pi * min(1.0, done)))
    return rate


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
