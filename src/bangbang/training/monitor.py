"""What a person sees while training runs, and the means over the steps since the last line of the log."""

import math
import sys
import time
from collections.abc import Callable, Mapping

import torch
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from torch import Tensor

from bangbang.config import Config
from bangbang.contracts import Diagnostics
from bangbang.objectives import means
from bangbang.precision import widest_float
from bangbang.tasks import shown
from bangbang.terminal import Console
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


QUIET_SECONDS = 30


class Monitor:
    """A bar with loss, metric, examples/s and ETA. Where stderr is no terminal, a line every half minute."""

    def __init__(self, config: Config, progress: Progress, enabled: bool) -> None:
        self.config, self.max_steps, self.spoke, self.metric = config, config.max_steps, time.monotonic(), ""
        self.began, self.first_step = time.monotonic(), progress.step
        self.console = Console(stderr=True, quiet=not enabled, soft_wrap=True)
        self.live = enabled and sys.stderr.isatty()
        self.bar = Bar(
            TextColumn("step"),
            MofNCompleteColumn(),
            BarColumn(),
            TextColumn("{task.fields[status]}", markup=False),
            TextColumn("eta"),
            TimeRemainingColumn(),
            console=self.console,
            disable=not self.live,
        )
        self.task = self.bar.add_task("", total=self.max_steps, completed=progress.step, status="")

    def __enter__(self) -> "Monitor":
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def say(self, message: str) -> None:
        self.console.print(message, highlight=False, markup=False)

    def update(self, progress: Progress, values: Mapping[str, float]) -> None:
        """`values` are those of `Interval.close`."""
        equal = f"{values['equal_share']:.0%} equal rewards  " if values.get("equal_share") else ""
        status = f"loss {values['loss']:.3f}  {self.metric}{equal}{values['examples_per_second']:.0f} examples/s"
        self.bar.update(self.task, completed=progress.step, status=status)
        if not self.live and time.monotonic() - self.spoke > QUIET_SECONDS:
            self.spoke = time.monotonic()
            self.say(f"step {progress.step}/{self.max_steps}  {status}  eta {self.eta(progress)}")

    def eta(self, progress: Progress) -> str:
        pace = (time.monotonic() - self.began) / max(1, progress.step - self.first_step)
        seconds = pace * (self.max_steps - progress.step)
        if self.config.training.max_minutes:
            seconds = min(seconds, self.config.training.max_minutes * 60 - progress.seconds)
        return f"{seconds / 60:.1f} min"

    def report(self, progress: Progress, scores: dict[str, float], better: bool) -> None:
        """A line for each validation."""
        name = self.config.metric
        self.metric = f"{name} {shown(name, scores[name])}  "
        table = "  ".join(f"{metric} {shown(metric, score)}" for metric, score in scores.items())
        best = "best so far" if better else f"best {shown(name, progress.best_score)} at step {progress.best_step}"
        self.say(f"step {progress.step}  validation {table}  ({best} by {name})")
