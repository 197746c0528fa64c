"""What is compared: the rows of `methods.toml`. And how much is trained: a file per task and budget in `budgets/`."""

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bangbang import config as configs
from bangbang.config import Config
from bangbang.errors import InputError

FOLDER = Path(__file__).parent / "budgets"
BUDGETS = ("small", "medium", "paper")


def tasks() -> list[str]:
    """The tasks that have budgets."""
    return sorted({path.name.split("-")[0] for path in FOLDER.glob("*.toml")}, reverse=True)


def budget_file(task: str, corpus: str, budget: str) -> Path:
    """`<task>-<budget>-<corpus>.toml` if there is one, else `<task>-<budget>.toml`."""
    own = FOLDER / f"{task}-{budget}-{corpus}.toml"
    return own if corpus.isalnum() and own.exists() else FOLDER / f"{task}-{budget}.toml"


def read_budget(task: str, corpus: str, budget: str, settings: Sequence[str] = ()) -> Config:
    """The config that all runs share; an empty `corpus` means the file's own."""
    config = configs.read(budget_file(task, corpus, budget))
    named = [f"data.corpus={json.dumps(corpus, ensure_ascii=False)}"] if corpus else []
    config = configs.override(config, [*named, *settings])
    if config.task.kind != task:
        raise InputError(f"--set model.kind={config.model.kind}: is no model for {task}")
    return config


FILE = Path(__file__).parent / "methods.toml"
LATE = {"tokens": 1 / 2, "features": 3 / 8}  # of the steps, by what models read: what validation liked best


class Method(NamedTuple):
    """A row of the table: the settings in which its runs differ from all others."""

    name: str
    """As run folders and `--methods` name it."""
    label: str
    """As the table names it."""
    settings: tuple[str, ...]
    starts_from: str = ""
    """The method whose weights it starts from; empty means a cold start."""
    late: bool = False
    """Whether p_drop is 0 first."""

    def changes(self, config: Config) -> list[str]:
        """Its settings for runs that are otherwise `config`."""
        if not self.late:
            return list(self.settings)
        delay = round(LATE[config.model.reads] * config.max_steps)
        if not config.stages:
            return [*self.settings, f"objective.p_drop_delay={delay}"]
        # a stage's delay counts from its own start
        left = {f"stages.{leg.number + 1}": max(0, delay - leg.first_step) for leg in config.planned}
        return [*self.settings, *(f"{stage}.objective.p_drop_delay={steps}" for stage, steps in left.items())]


def read_methods() -> dict[str, Method]:
    rows = tomllib.loads(FILE.read_text("utf-8"))
    return {name: Method(name, **{**row, "settings": tuple(row["settings"])}) for name, row in rows.items()}


METHODS = read_methods()
