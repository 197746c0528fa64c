"""How much is trained: a file per task and budget in `budgets/`."""

import json
from collections.abc import Sequence
from pathlib import Path

from bangbang import config as configs
from bangbang.config import Config
from bangbang.errors import InputError

FOLDER = Path(__file__).parent / "budgets"
BUDGETS = ("first", "small", "medium", "paper")


def tasks() -> list[str]:
    """The tasks that have budgets."""
    return sorted({path.name.split("-")[0] for path in FOLDER.glob("*.toml")}, reverse=True)


def budget_file(task: str, corpus: str, budget: str) -> Path:
    """`<task>-<budget>-<corpus>.toml` if there is one, also for a folder of that name, else `<task>-<budget>.toml`."""
    name = Path(corpus).name
    own = FOLDER / f"{task}-{budget}-{name}.toml"
    return own if name.isalnum() and own.exists() else FOLDER / f"{task}-{budget}.toml"


def read_budget(task: str, corpus: str, budget: str, settings: Sequence[str] = ()) -> Config:
    """The config that all runs share; an empty `corpus` means the file's own."""
    file = budget_file(task, corpus, budget)
    if not file.exists():
        there = [each for each in BUDGETS if budget_file(task, corpus, each).exists()]
        raise InputError(f"--budget {budget}: {task} has {' and '.join(there)} alone")
    config = configs.read(file)
    named = [f"data.corpus={json.dumps(corpus, ensure_ascii=False)}"] if corpus else []
    config = configs.override(config, [*named, *settings])
    if config.task.kind != task:
        raise InputError(f"--set model.kind={config.model.kind}: is no model for {task}")
    return config
