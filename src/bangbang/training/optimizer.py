"""The optimiser and its learning rate as a pure function of the step."""

import math
from collections.abc import Iterable
from typing import Literal

import torch
from torch import nn

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
