"""What a person sees while training runs: one bar on a terminal, a line now and then elsewhere."""

import sys
import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from bangbang.config import Config
from bangbang.tasks import shown
from bangbang.training.checkpoint import Progress

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
            TextColumn("{task.fields[status]}"),
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

    def update(self, progress: Progress, loss: float, examples_per_second: float) -> None:
        status = f"loss {loss:.3f}  {self.metric}{examples_per_second:.0f} examples/s"
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
