"""Where runs stand, by what is in their folders, and the plan as a table: rows, steps, what is left."""

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from bangbang.plain_files import open_plain
from bangbang.reproduction.plan import Plan, Training
from bangbang.reproduction.standing import Standing, standing

TAIL_BYTES = 2**16


class Latest(NamedTuple):
    """What the last lines of metrics.jsonl say."""

    step: int = 0
    score: float | None = None
    """The last validation's, by the metric that chooses the checkpoint."""


def latest(folder: Path, metric: str) -> Latest:
    step, score = 0, None
    for line in last_lines(folder / "metrics.jsonl"):
        try:
            record = json.loads(line)
            step = int(record["step"])
            score = float(record[metric]) if record["kind"] == "valid" else score
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            continue  # the line is being written, or damaged
    return Latest(step, score)


def last_lines(path: Path, count: int | None = None) -> list[str]:
    """The last lines of a file, as far as they are in its last 64 KB."""
    try:
        with open_plain(path) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return []
    return lines if count is None else lines[-count:]


class Outline(NamedTuple):
    plan: Plan
    jobs: int
    found: list[Standing]

    @classmethod
    def of(cls, plan: Plan, jobs: int) -> "Outline":
        found = [standing(training.folder, training.config) for training in plan.trainings]
        return cls(plan, jobs, found)

    @property
    def rows(self) -> list[tuple[Training, Standing]]:
        return list(zip(self.plan.trainings, self.found, strict=True))

    @property
    def seconds(self) -> float | None:
        """What is left of the training, by the pace of the runs so far; None before their first checkpoint."""
        steps, seconds = sum(each.step for each in self.found), sum(each.seconds for each in self.found)
        left = sum(training.config.max_steps - each.step for training, each in self.rows if not each.done)
        return seconds / steps * left / self.jobs if steps else None

    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        trainings = [
            {
                "name": training.name,
                "label": training.method.label,
                "extension": training.config.is_own,
                "seed": training.seed,
                "steps": training.config.max_steps,
                "steps_before": self.steps_before(training),
                "after": training.after,
                "command": training.command,
                "step": stands.step,
                "done": stands.done,
            }
            for training, stands in self.rows
        ]
        known = {"out": str(self.plan.out), "jobs": self.jobs, "seconds": self.seconds, "trainings": trainings}
        return {**known, "later": self.plan.later}

    def steps_before(self, training: Training) -> int:
        """Steps of the training that it starts from."""
        return sum(each.config.max_steps for each in self.plan.trainings if each.name == training.after)

    def table(self) -> RenderableType:
        plan = self.plan
        title = f"{plan.task}: {plan.config.data.corpus}, {plan.budget} budget, into {plan.out}"
        grid = Table(title=Text(title, "table.title"))
        for column in ("row", "run", "steps", "stands"):
            grid.add_column(column, justify="right" if column == "steps" else "left")
        for training, stands in self.rows:
            label = training.method.label + (" *" if training.config.is_own else "")
            before = self.steps_before(training)
            steps = (f"{before:,} + " if before else "") + f"{training.config.max_steps:,}"
            grid.add_row(Text(label), training.name, steps, state(training, stands))
        for name in plan.later:
            grid.add_row("", name, "", "as long as the longest, once that is known")
        left = self.seconds
        known = "not known before the first checkpoint" if left is None else f"about {left / 60:.0f} minutes"
        grid.caption = "* not a row of the paper's"
        return Group(grid, Text(f"{self.jobs} trainings at a time; what is left: {known}"))


def state(training: Training, stands: Standing) -> str:
    if stands.done:
        return "done"
    if stands.step:
        return f"at step {stands.step:,}"
    return f"after {training.after}" if training.after else "new"
