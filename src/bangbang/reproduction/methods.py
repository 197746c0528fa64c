"""What is compared: the rows of `methods.toml`, each as the settings in which its runs differ from all others."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import tomli_w

from bangbang import config as configs
from bangbang.config import Config
from bangbang.conversion import suggestion
from bangbang.errors import InputError

FILE = Path(__file__).parent / "methods.toml"
BUNDLES = "bundles"
EVERY = "all"
DEFAULT = "paper"
LATE = {"tokens": 1 / 2, "features": 3 / 8}  # of the steps, by what models read: what validation liked best


Share = float | Mapping[str, float]
"""Of the budget's steps; where tasks differ, by task."""
NOTHING: Mapping[str, Share] = MappingProxyType({})


class Stage(NamedTuple):
    """A stage of a row's own."""

    settings: tuple[str, ...] = ()
    use: tuple[str, ...] = ()
    of_steps: Mapping[str, Share] = NOTHING
    share: Share = 1.0
    """Its steps."""
    start: str = "last"

    def table(self, config: Config) -> dict[str, Any]:
        """As `[[stages]]` has it."""
        found: dict[str, Any] = {"steps": steps_of(self.share, config), "start": self.start}
        for setting in (*bundled(self.use, config), *self.settings, *counted(self.of_steps, config)):
            name, _, text = setting.partition("=")
            table, _, key = name.partition(".")
            value = configs.value_of(text)
            # what a whole run has in these tables, a stage has by names of its own
            if name == "training.batch_size":
                found[key] = value
            elif name == "data.all_references":
                found["references"] = "all" if value else "own"
            else:
                found.setdefault(table, {})[key] = value
        return found


class Method(NamedTuple):
    """A row of the table: the settings in which its runs differ from all others."""

    name: str
    """As run folders and `--methods` name it."""
    label: str
    """As the table names it."""
    groups: tuple[str, ...]
    """What `--methods` may call it together with others."""
    settings: tuple[str, ...] = ()
    use: tuple[str, ...] = ()
    """Bundles of settings that several rows share; those of the row itself come after them."""
    starts_from: str = ""
    """The method whose weights it starts from; empty means a cold start."""
    share: Share = 1.0
    """Its steps."""
    of_steps: Mapping[str, Share] = NOTHING
    """Settings that are numbers of steps, as shares of the budget's."""
    stages: tuple[Stage, ...] = ()
    """What it is trained by in turn, instead of the budget's own stages."""
    late: bool = False
    """Whether p_drop is 0 first."""
    pace: str = ""
    """The method by whose pace it is trained as many minutes as the longest of the others; empty: by steps."""
    only_a_start: bool = False
    """Whether others start from it, and it is no row of the table."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The methods that must be trained before it."""
        return tuple(name for name in (self.starts_from, self.pace) if name)

    def changes(self, config: Config) -> list[str]:
        """Its settings for runs that are otherwise `config`."""
        own = [*bundled(self.use, config), *self.settings, *counted(self.of_steps, config)]
        if self.stages:
            tables = [stage.table(config) for stage in self.stages]
            total = sum(table["steps"] for table in tables)
            return [*own, f"stages={inline(tables)}", f"training.max_steps={total}"]
        cut = [] if self.share == 1 else [f"training.max_steps={steps_of(self.share, config)}"]
        return [*own, *cut, *(self.delays(config) if self.late else [])]

    def delays(self, config: Config) -> list[str]:
        delay = round(LATE[config.model.reads] * config.max_steps)
        if not config.stages:
            return [f"objective.p_drop_delay={delay}"]
        # a stage's delay counts from its own start
        left = {f"stages.{leg.number + 1}": max(0, delay - leg.first_step) for leg in config.planned}
        return [f"{stage}.objective.p_drop_delay={steps}" for stage, steps in left.items()]


def steps_of(share: Share, config: Config) -> int:
    part = share[config.task.kind] if isinstance(share, Mapping) else share
    return max(1, round(part * config.max_steps))


def counted(of_steps: Mapping[str, Share], config: Config) -> list[str]:
    """Settings that are shares of the budget's steps, as numbers."""
    return [f"{name}={steps_of(share, config)}" for name, share in of_steps.items()]


def inline(value: Any) -> str:
    """A value as TOML writes it in one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {inline(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(inline, value)) + "]"
    return tomli_w.dumps({"value": value}).removeprefix("value = ").strip()


def read_rows() -> dict[str, dict[str, Any]]:
    return tomllib.loads(FILE.read_text("utf-8"))


def bundled(names: Sequence[str], config: Config) -> list[str]:
    """The settings of bundles, those for every task and those for the task of the config."""
    kinds = ("every", config.task.kind)
    return [setting for name in names for kind in kinds for setting in SHARED[name].get(kind, [])]


def read_methods(rows: Mapping[str, dict[str, Any]]) -> dict[str, Method]:
    def fixed(row: Mapping[str, Any]) -> dict[str, Any]:
        return {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}

    found = {}
    for name, row in rows.items():
        stages = tuple(Stage(**fixed(stage)) for stage in row.get("stages", []))
        found[name] = Method(name, **{**fixed(row), "stages": stages})
    return found


ROWS = read_rows()
SHARED: dict[str, dict[str, list[str]]] = ROWS.pop(BUNDLES)
DEFAULTS: dict[str, list[str]] = ROWS.pop("defaults")
METHODS = read_methods(ROWS)
GROUPS = list(dict.fromkeys(group for method in METHODS.values() for group in method.groups))


def default_methods(task: str) -> list[str]:
    """The rows of a task where none is named."""
    return DEFAULTS.get(task, [DEFAULT])


def choose(names: Sequence[str]) -> list[Method]:
    """The methods of these names and groups, in the order of the table; the paper's, if none is named."""
    wanted = set(names or (DEFAULT,))
    known = [*GROUPS, EVERY, *METHODS]
    for name in names:
        if name not in known:
            raise InputError(f"--methods {name}: unknown{suggestion(name, known)}")
    chosen = [method for method in METHODS.values() if wanted & {EVERY, method.name, *method.groups}]
    there = {method.name for method in chosen}
    for method in chosen:
        for needed in method.needs:
            if needed not in there:
                verb = "starts from" if needed == method.starts_from else "is as long as others by the pace of"
                raise InputError(f"--methods {method.name}: {verb} {needed}; name that one, too")
    return chosen
