"""The optimiser and its learning rate as a pure function of the step."""

import math
from collections.abc import Iterable

import torch
from torch import nn

from bangbang.training.settings import OptimizerSettings


def build_optimizer(parameters: Iterable[nn.Parameter], config: OptimizerSettings) -> torch.optim.Optimizer:
    # fused: one pass over parameters, gradients and state instead of one per operation (8 times faster on a CPU)
    if config.kind == "adagrad":
        return torch.optim.Adagrad(
            parameters,
            lr=config.learning_rate,
            weight_decay=config.weight_decay,
            initial_accumulator_value=config.initial_accumulator,
            fused=True,
        )
    return torch.optim.AdamW(parameters, lr=config.learning_rate, weight_decay=config.weight_decay, fused=True)


def learning_rate(step: int, max_steps: int, config: OptimizerSettings) -> float:
    """The rate of step 0, 1, ...: linear warm-up, then constant or a cosine to zero at `max_steps`, a stage's own."""
    rate = config.learning_rate
    if step < config.warmup_steps:
        return rate * (step + 1) / config.warmup_steps
    if config.decay == "cosine":
        done = (step - config.warmup_steps) / max(1, max_steps - config.warmup_steps)
        return rate * 0.5 * (1 + math.cos(math.pi * min(1.0, done)))
    return rate
