"""What a person sees while training runs: one bar on a terminal, a line now and then elsewhere."""

import sys
import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


class Monitor:
    """A progress bar with loss, metric, examples/s and ETA. Where stderr is no terminal, a line every 30 seconds."""

    def __init__(self, total: int, done: int, enabled: bool) -> None:
        self.console = Console(stderr=True, quiet=not enabled, soft_wrap=True)
        self.live = enabled and sys.stderr.isatty()
        self.total, self.status, self.spoke = total, "", time.monotonic()
        self.bar = Progress(
            TextColumn("training"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TextColumn("{task.fields[status]}"),
            TextColumn("eta"),
            TimeRemainingColumn(),
            console=self.console,
            disable=not self.live,
            expand=True,
        )
        self.task = self.bar.add_task("", total=total, completed=done, status="")

    def __enter__(self) -> "Monitor":
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def say(self, message: str) -> None:
        self.console.print(message, highlight=False, markup=False)

    def update(self, step: int, loss: float, metric: str, examples_per_second: float, eta_seconds: float) -> None:
        self.status = f"loss {loss:.3f}  {metric}  {examples_per_second:.0f} ex/s"
        self.bar.update(self.task, completed=step, status=self.status)
        if not self.live and time.monotonic() - self.spoke > 30:
            self.spoke = time.monotonic()
            self.say(f"step {step}/{self.total}  {self.status}  eta {eta_seconds / 60:.1f} min")
