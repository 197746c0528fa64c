"""A plan before it is carried out: which rows, how many steps, where each run stands, and for how long."""

from typing import Any, NamedTuple

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from bangbang.reproduction.plan import Plan, Training
from bangbang.reproduction.standing import Standing, standing


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
                "after": training.after,
                "command": training.command,
                "step": stands.step,
                "done": stands.done,
            }
            for training, stands in self.rows
        ]
        return {"out": str(self.plan.out), "jobs": self.jobs, "seconds": self.seconds, "trainings": trainings}

    def table(self) -> RenderableType:
        plan = self.plan
        grid = Table(title=f"{plan.task}: {plan.config.data.corpus}, {plan.budget} budget, into {plan.out}")
        for column in ("row", "run", "steps", "stands"):
            grid.add_column(column, justify="right" if column == "steps" else "left")
        for training, stands in self.rows:
            label = training.method.label + (" (ours)" if training.config.is_own else "")
            grid.add_row(label, training.name, f"{training.config.max_steps:,}", state(training, stands))
        left = self.seconds
        known = "not known before the first checkpoint" if left is None else f"about {left / 60:.0f} minutes"
        return Group(grid, Text(f"{self.jobs} trainings at a time; what is left: {known}"))


def state(training: Training, stands: Standing) -> str:
    if stands.done:
        return "done"
    if stands.step:
        return f"at step {stands.step:,}"
    return f"after {training.after}" if training.after else "new"
