"""An average of the weights over the steps of a stage, in which later ones count more (an exponential moving average).

Averaged weights decode better than the last ones, which the noise of the last batches still moves. Training itself does
not see the average: it goes on with its own weights.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn


def newest_share(decay: float, count: int) -> float:
    """(1-d) / (1-d^n), by which the n-th weights move the average: w̄ ← w̄ + (1-d)/(1-d^n) · (w - w̄).

    This is m ← d·m + (1-d)·w from m = 0, with its bias corrected: w̄ = m / (1-d^n), a mean with weights d^(n-k). So what
    a stage begins with is not in it, and after a first step it is that step's weights.
    """
    return (1 - decay) / (1 - decay**count)


class WeightAverage:
    """The averages of a model's parameters; other entries of its state are as they are."""

    @torch.no_grad()
    def __init__(self, model: nn.Module, decay: float) -> None:
        self.model, self.decay = model, decay
        self.values = {parameter: parameter.clone() for parameter in model.parameters()}

    @torch.no_grad()
    def add(self, count: int) -> None:
        """Take in the weights after the stage's step of that number, from 1."""
        share = newest_share(self.decay, count)
        for parameter, mean in self.values.items():
            mean.lerp_(parameter, share)

    def tensors(self) -> dict[str, Tensor]:
        """The model's state with averages in place of its parameters."""
        named = self.model.named_parameters(remove_duplicate=False)  # a state names a shared parameter several times
        return {**self.model.state_dict(), **{name: self.values[parameter] for name, parameter in named}}

    @torch.no_grad()
    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Go on from what `tensors` gave."""
        for name, parameter in self.model.named_parameters():
            self.values[parameter].copy_(tensors[name])

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """The model with averaged weights, for the time of a block."""
        self.exchange()
        try:
            yield
        finally:
            self.exchange()

    @torch.no_grad()
    def exchange(self) -> None:
        for parameter, mean in self.values.items():
            kept = parameter.clone()
            parameter.copy_(mean)
            mean.copy_(kept)
