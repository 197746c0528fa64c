"""Means over the steps since the last line of the log, kept on the device until they are read."""

import math
import time

from torch import Tensor

from bangbang.training.checkpoint import Progress


class Interval:
    def __init__(self, progress: Progress) -> None:
        self.earlier_seconds = progress.seconds
        self.began = time.monotonic()
        self.restart()

    def restart(self) -> None:
        self.losses: list[Tensor] = []
        self.norms: list[Tensor] = []
        self.examples = 0
        self.mark = time.monotonic()

    def add(self, loss: Tensor, norm: Tensor, examples: int) -> None:
        self.losses.append(loss)
        self.norms.append(norm)
        self.examples += examples

    def total_seconds(self) -> float:
        """Time spent on the run, earlier sittings included."""
        return self.earlier_seconds + time.monotonic() - self.began

    def close(self) -> dict[str, float]:
        """The means since the last call, and a new start."""
        seconds = time.monotonic() - self.mark
        values = {
            "loss": mean(self.losses),
            "gradient_norm": mean(self.norms),
            "examples_per_second": self.examples / seconds,
        }
        self.restart()
        return values


def mean(values: list[Tensor]) -> float:
    """The mean of those that are finite: the others were not trained on. None of them gives 0."""
    finite = [number for number in map(float, values) if math.isfinite(number)]
    return sum(finite) / max(1, len(finite))
