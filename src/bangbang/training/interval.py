"""Means over the steps since the last line of the log, kept on the device until they are read."""

import math
import time
from collections.abc import Callable

import torch
from torch import Tensor

from bangbang.contracts import Diagnostics
from bangbang.precision import widest_float
from bangbang.training.checkpoint import Progress


class Interval:
    def __init__(self, progress: Progress) -> None:
        self.earlier_seconds = progress.seconds
        self.began = time.monotonic()
        self.restart()

    def restart(self) -> None:
        self.losses: list[Tensor] = []
        self.norms: list[Tensor] = []
        self.diagnostics = [0.0] * len(Diagnostics._fields)
        self.examples = 0
        self.mark = time.monotonic()

    def add(self, loss: Tensor, norm: Tensor, diagnostics: Diagnostics, examples: int) -> None:
        self.losses.append(loss)
        self.diagnostics = [total + new for total, new in zip(self.diagnostics, diagnostics, strict=True)]
        self.norms.append(norm)
        self.examples += examples

    def total_seconds(self) -> float:
        """Time spent on the run, earlier sittings included."""
        return self.earlier_seconds + time.monotonic() - self.began

    def close(self, device: torch.device, over_processes: Callable[[Tensor], Tensor]) -> dict[str, float]:
        """The means since the last call, and a new start; `over_processes` sums a tensor on the device over all."""
        seconds = time.monotonic() - self.mark
        sums = torch.tensor(self.diagnostics, dtype=widest_float(device), device=device)
        values = {
            "loss": mean(self.losses),
            "gradient_norm": mean(self.norms),
            "examples_per_second": self.examples / seconds,
            **means(Diagnostics(*over_processes(sums).tolist())),
        }
        self.restart()
        return values


def mean(values: list[Tensor]) -> float:
    """The mean of those that are finite: the others were not trained on. None of them gives 0."""
    finite = [number for number in map(float, values) if math.isfinite(number)]
    return sum(finite) / max(1, len(finite))


def means(sums: Diagnostics) -> dict[str, float]:
    """What targets were like on average; what no target has is left out."""
    written = sums.driven_tokens + sums.model_tokens
    quotients = {
        "reward": (sums.reward, sums.rewarded),
        "driven_share": (sums.driven_tokens, written),
        "tied_share": (sums.tied_tokens, sums.driven_tokens),
        "sample_length": (sums.sample_tokens, sums.samples),
        "reference_length": (sums.reference_tokens, sums.samples),
        "entropy": (sums.entropy, sums.measured),
    }
    return {name: total / count for name, (total, count) in quotients.items() if count}
