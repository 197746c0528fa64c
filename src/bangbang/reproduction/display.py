"""What a person sees of many trainings: a bar for each that runs and one for all; without a terminal, plain lines."""

import time
from collections.abc import Mapping

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from bangbang.reproduction.plan import Plan, Training
from bangbang.tasks import shown
from bangbang.terminal import Console

QUIET_SECONDS = 30


class Display:
    def __init__(self, plan: Plan, steps: Mapping[str, int], done: set[str]) -> None:
        """`steps`: where each training stands; those that are `done` count in full, wherever they ended."""
        self.limits = {training.name: training.config.max_steps for training in plan.trainings}
        self.steps = {name: self.limits[name] if name in done else step for name, step in steps.items()}
        self.metric = plan.config.metric
        self.first, self.spoke = sum(self.steps.values()), time.monotonic()
        self.mark: tuple[float, int] | None = None  # when the first step of this sitting was seen, and all steps then
        self.console = Console(stderr=True, soft_wrap=True)
        self.bars = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[status]}", markup=False),
            console=self.console,
            disable=not self.console.is_terminal,
        )
        total = sum(self.limits.values())
        self.overall = self.bars.add_task("all", total=total, completed=self.first, status="")
        self.tasks: dict[str, TaskID] = {}
        if done:
            self.say(f"{len(done)} of {len(self.limits)} trainings are done already")

    def __enter__(self) -> "Display":
        self.bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bars.stop()

    def say(self, message: str) -> None:
        self.console.print(message, highlight=False, markup=False)

    def begin(self, training: Training) -> None:
        name, step = training.name, self.steps[training.name]
        self.say(f"{name}: {f'going on from step {step}' if step else 'begins'}")
        self.tasks[name] = self.bars.add_task(name, total=self.limits[name], completed=step, status="")

    def end(self, training: Training, how: str, done: bool = False) -> None:
        self.say(f"{training.name}: {how}")
        if training.name in self.tasks:
            self.bars.remove_task(self.tasks.pop(training.name))
        if done:
            self.steps[training.name] = self.limits[training.name]

    def show(self, running: Mapping[str, tuple[int, float | None]]) -> None:
        """Move the bars to where the running trainings' journals are."""
        statuses = []
        for name, (step, score) in running.items():
            self.steps[name] = max(step, self.steps[name])
            status = "" if score is None else f"{self.metric} {shown(self.metric, score)}"
            self.bars.update(self.tasks[name], completed=self.steps[name], status=status)
            statuses.append(f"{name} {self.steps[name]}/{self.limits[name]} {status}".rstrip())
        sum_of_steps, total = sum(self.steps.values()), sum(self.limits.values())
        if self.mark is None and sum_of_steps > self.first:
            self.mark = time.monotonic(), sum_of_steps
        self.bars.update(self.overall, completed=sum_of_steps, status=f"eta {self.eta()}")
        if not self.console.is_terminal and time.monotonic() - self.spoke >= QUIET_SECONDS:
            self.spoke = time.monotonic()
            self.say(f"{sum_of_steps}/{total} steps, eta {self.eta()}: {', '.join(statuses)}")

    def eta(self) -> str:
        """By the pace of this sitting, its start left out."""
        done = sum(self.steps.values())
        if self.mark is None or done == self.mark[1]:
            return "?"
        began, first = self.mark
        seconds = (time.monotonic() - began) / (done - first) * (sum(self.limits.values()) - done)
        return f"{seconds / 60:.1f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
