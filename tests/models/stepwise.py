"""What every model keeps to: reading known tokens at once is stepping over them, gradients included."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from bangbang.models import Generator


def check_unroll_is_steps(model: Generator[Any], encode: Callable[[], Any], words: int) -> None:
    """`encode` gives the state of three inputs; tokens are below `words`."""
    tokens = torch.randint(4, words, (3, 4))
    targets = torch.randint(2, words, (12,))

    def run(stepwise: bool) -> list[Tensor]:
        state = encode()
        steps = []
        for t in range(4):
            state, features = model.step(state, tokens[:, t]) if stepwise else (state, torch.empty(0))
            steps.append(features)
        features = torch.stack(steps, 1) if stepwise else model.unroll(state, tokens)
        model.zero_grad()
        model.head.log_prob(features.flatten(0, 1), targets).sum().backward()
        gradients = [parameter.grad for parameter in model.parameters()]
        assert all(gradient is not None and gradient.abs().sum() > 0 for gradient in gradients)
        return [features.detach(), *(gradient.clone() for gradient in gradients if gradient is not None)]

    for one, other in zip(run(True), run(False), strict=True):
        torch.testing.assert_close(one, other)
