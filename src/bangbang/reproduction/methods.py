"""What is compared: the rows of `methods.toml`."""

import tomllib
from pathlib import Path
from typing import NamedTuple

from bangbang.config import Config

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
