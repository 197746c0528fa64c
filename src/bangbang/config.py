"""A whole run as typed tables read from TOML: how they are read, built, changed and written.

Each table is a frozen dataclass of its room's `settings` module, which is the only home of its defaults. Where a table
has kinds, `kind` picks the dataclass (`corpus` does in [data]), and a key of another kind is an error. Nothing here
imports torch: a config can be read, checked and written in milliseconds.
"""

import dataclasses
import tomllib
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, get_args, get_type_hints

import tomli_w

from bangbang import registry
from bangbang.conversion import chosen, convert, suggestion
from bangbang.corpora.settings import CorpusSettings
from bangbang.data.settings import VocabularySettings
from bangbang.decoding.settings import DecodingSettings
from bangbang.errors import InputError
from bangbang.models.settings import ModelSettings
from bangbang.nearness import near_config
from bangbang.objectives.settings import ObjectiveSettings, check_units
from bangbang.plain_files import read_plain
from bangbang.rewards.settings import RewardSettings
from bangbang.settings import KindSettings, Settings
from bangbang.tasks.settings import TaskSettings
from bangbang.training.settings import OptimizerSettings, StageSettings, TrainingSettings

K = TypeVar("K", bound=KindSettings)
CONFIG_BYTES = 2**20  # ours have a few thousand
STAGED = ("objective", "reward", "optimizer")  # the tables that a stage may change


def first(base: type[K]) -> K:
    """The default kind of a table, with its defaults."""
    kind: type[K] = registry.built_in(base.group)[registry.default(base.group)]  # type: ignore[assignment]
    return kind()


class Leg(NamedTuple):
    """A stage of a run with all its settings; a run without stages is one leg."""

    number: int
    first_step: int
    steps: int
    start: Literal["last", "best"]
    batch_size: int
    all_references: bool
    objective: ObjectiveSettings
    reward: RewardSettings
    optimizer: OptimizerSettings

    @property
    def end(self) -> int:
        return self.first_step + self.steps


@dataclass(frozen=True)
class Config:
    """A whole run. Each field is one table of the TOML file."""

    task: TaskSettings = field(default_factory=lambda: typing.cast(TaskSettings, None))
    """Left out, it is the first task that reads what the model reads."""
    data: CorpusSettings = field(default_factory=lambda: first(CorpusSettings))
    vocabulary: VocabularySettings = field(default_factory=lambda: first(VocabularySettings))
    source_vocabulary: VocabularySettings | None = None
    """Of the sources, where they have one of their own."""
    model: ModelSettings = field(default_factory=lambda: first(ModelSettings))
    objective: ObjectiveSettings = field(default_factory=lambda: first(ObjectiveSettings))
    reward: RewardSettings = field(default_factory=lambda: first(RewardSettings))
    optimizer: OptimizerSettings = field(default_factory=OptimizerSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    decoding: DecodingSettings = field(default_factory=DecodingSettings)
    stages: tuple[StageSettings, ...] = ()

    def __post_init__(self) -> None:
        if typing.cast(TaskSettings | None, self.task) is None:
            object.__setattr__(self, "task", default_task(self.model))
        if self.task.reads != self.model.reads:
            raise InputError(
                f"task.kind = {self.task.kind!r} is for models that read {self.task.reads}, but model.kind = "
                f"{self.model.kind!r} reads {self.model.reads}; set task.kind or model.kind"
            )

        if self.source_vocabulary is not None and self.model.reads != "tokens":
            raise InputError(
                f"source_vocabulary: model.kind = {self.model.kind!r} reads {self.model.reads}, not texts; leave it out"
            )

    @property
    def metric(self) -> str:
        """The validation score that picks the best checkpoint."""
        return self.training.metric or self.task.chosen_by

    @cached_property
    def planned(self) -> list[Leg]:
        """The stages one after the other, wherever training.max_steps ends the run; one leg where there are none."""
        if not self.stages:
            data = self.training.batch_size, self.data.all_references
            check_units(self.objective, self.reward, "objective")
            return [Leg(0, 0, self.training.max_steps, "last", *data, self.objective, self.reward, self.optimizer)]
        legs: list[Leg] = []
        begin = 0
        for number, stage in enumerate(self.stages):
            batch_size = stage.batch_size or self.training.batch_size
            several = stage.references == "all" if stage.references else self.data.all_references
            place = number, begin, stage.steps, stage.start
            legs.append(Leg(*place, batch_size, several, *stage_tables(self, number)))
            begin += stage.steps
        return legs

    @cached_property
    def legs(self) -> list[Leg]:
        """The stages that are trained: those before training.max_steps, the last of them cut there."""
        most = self.training.max_steps
        return [
            leg._replace(steps=min(leg.steps, most - leg.first_step)) for leg in self.planned if leg.first_step < most
        ]

    def leg_at(self, step: int) -> Leg:
        """The leg of the step that comes after so many; at the end of the run, that of the last one."""
        if step < self.max_steps:
            return next(leg for leg in self.legs if step < leg.end)
        return self.leg_before(step)

    def leg_before(self, step: int) -> Leg:
        """The leg of the last of so many steps, also of steps that were taken before training.max_steps was lowered."""
        last = next(leg for leg in reversed(self.planned) if leg.first_step < max(1, step))
        return next((leg for leg in self.legs if leg.number == last.number), last)

    @property
    def max_steps(self) -> int:
        """The steps of all stages."""
        return self.legs[-1].end

    @property
    def is_own(self) -> bool:
        """Whether it trains by what the paper does not have: stages, a schedule, `Length`, another reward, ..."""
        rewarded = self.objective.is_rewarded and self.reward != first(RewardSettings)
        return bool(self.stages) or rewarded or not self.objective.is_the_papers

    @property
    def label(self) -> str:
        """The training method as reports name it, that of each stage in turn."""
        return " → ".join(label for label, _ in groupby(leg_label(leg) for leg in self.legs))


def leg_label(leg: Leg) -> str:
    return leg.objective.label + (" + Length" if leg.objective.is_rewarded and leg.reward.length else "")


def stage_tables(config: Config, number: int) -> list[Any]:
    """The tables of a stage: those of the run, changed."""
    stage = config.stages[number]
    try:
        tables = [changed_table(getattr(config, name), getattr(stage, name), name) for name in STAGED]
        check_units(tables[0], tables[1], "objective")
        return tables
    except InputError as error:
        raise InputError(f"stages, number {number + 1}: {error}") from None


def default_task(model: ModelSettings) -> TaskSettings:
    """The first task that reads what a model reads."""
    for kind in registry.built_in("tasks").values():
        assert issubclass(kind, TaskSettings)
        if kind.reads == model.reads:
            return kind()
    raise InputError(f"model.kind = {model.kind!r} reads {model.reads}, which no built-in task does; set task.kind")


def read(path: Path | str, settings: Sequence[str] = (), old: bool = False) -> Config:
    """The config in a TOML file, changed by `settings` of the form `table.key=value`.

    `old` leaves out what other kinds own, if the file does not say which version wrote it: versions before 0.2 wrote
    the settings of all kinds into one table.
    """
    table = read_table(Path(path))
    if old and "version" not in table:
        table, _ = without_others(table)
        if isinstance(table.get("objective"), dict):
            table["objective"].setdefault("normalizer", "positions")  # there was no other
    return override(build(table, str(path)), settings)


def read_table(path: Path) -> dict[str, Any]:
    """A TOML file as it is."""
    try:
        return tomllib.loads(read_plain(path, CONFIG_BYTES).decode("utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such config file{near_config(path)}") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder, not a config file{near_config(path)}") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not a config, which is TOML in UTF-8: {error}") from None


def without_others(table: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """A config without the settings that belong to other kinds than those it chooses, and the names of these."""
    kept, dropped = dict(table), []
    for name, base in kind_tables().items():
        given = table.get(name)
        if not isinstance(given, Mapping):
            continue
        fields = registry.fields_of(chosen(base, given, name))
        others = [key for key in given if key not in (*fields, "kind") and registry.owners(base.group, key)]
        kept[name] = {key: value for key, value in given.items() if key not in others}
        dropped += [f"{name}.{key}" for key in others]
    return kept, dropped


def kind_tables() -> dict[str, type[KindSettings]]:
    """The tables that have kinds."""
    return {name: base for name, base in bases().items() if issubclass(base, KindSettings)}


def bases() -> dict[str, type[Settings]]:
    """Every table's dataclass, or what the dataclasses of its kinds derive from."""
    hints = get_type_hints(Config)
    return {name: named(hint) for name, hint in hints.items() if name != "stages"}


def named(hint: Any) -> type[Settings]:
    """The dataclass of a type that may allow None."""
    options = get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    found: type[Settings] = options[0]
    return found


def plain(config: Config) -> dict[str, Any]:
    """The config as TOML and JSON have it: tables of plain values, the kind first."""
    tables: dict[str, Any] = {}
    for name in bases():
        settings = getattr(config, name)
        if settings is not None:
            tables[name] = plain_table(settings)
    if config.stages:
        tables["stages"] = [plain_stage(stage) for stage in config.stages]
    return tables


def plain_table(settings: Settings) -> dict[str, Any]:
    values = {key: list(value) if isinstance(value, tuple) else value for key, value in vars_of(settings).items()}
    if isinstance(settings, KindSettings) and not isinstance(settings, CorpusSettings):  # which its corpus names
        return {"kind": settings.kind, **values}
    return values


def vars_of(settings: Settings) -> dict[str, Any]:
    return {each.name: getattr(settings, each.name) for each in dataclasses.fields(settings)}


def plain_stage(stage: StageSettings) -> dict[str, Any]:
    return {key: dict(value) if isinstance(value, Mapping) else value for key, value in vars_of(stage).items() if value}


def dumps(config: Config) -> str:
    """TOML that `read` gives the same config from."""
    from bangbang import __version__

    return tomli_w.dumps({"version": __version__, **plain(config)})


def override(config: Config, settings: Sequence[str]) -> Config:
    """`config` with each `table.key=value` of `settings` put in; the value is TOML, or a bare word.

    `stages=[...]` replaces all stages.
    """
    if not settings:
        return config
    tables = plain(config)
    changes: dict[str, dict[str, Any]] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        keys = name.strip().split(".")
        if keys == ["stages"] and equals:
            tables["stages"] = stages_of(value_of(text), setting)
        elif keys[0] == "stages" and equals and len(keys) in (3, 4):
            change_stage(tables.get("stages", []), keys[1:], value_of(text), setting)
        elif not equals or len(keys) != 2:
            raise InputError(f"--set {setting}: expected table.key=value, such as {such_as(keys, text)}")
        else:
            changes.setdefault(keys[0], {})[keys[1]] = value_of(text)
    if "kind" in changes.get("model", {}) and "task" not in changes and config.task == default_task(config.model):
        del tables["task"]  # chosen again, by the new model
    for name, change in changes.items():
        before = getattr(config, name, None) if name in bases() else None
        tables[name] = merged(before, change, "--set") if before is not None else change
    return build(tables, "--set")


def such_as(keys: Sequence[str], text: str) -> str:
    """A setting that may have been meant by one that names no `table.key`, or has no value."""
    of_kind = keys[0] in kind_tables() and len(keys) == 1 and text  # objective=mle
    if of_kind:
        return f"{keys[0]}.{'corpus' if keys[0] == CorpusSettings.table else 'kind'}={text}"
    place = next(places_of(keys[-1]), "")
    return f"{place}={text or 500}" if place else "training.max_steps=500"


def places_of(key: str) -> Iterator[str]:
    """The `table.key`s that a key may stand for."""
    for name, base in bases().items():
        of_kinds = registry.owners(base.group, key) if issubclass(base, KindSettings) else []
        if of_kinds or key in registry.fields_of(base):
            yield f"{name}.{key}"


def value_of(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text.strip()


def stages_of(value: Any, setting: str) -> list[dict[str, Any]]:
    """All stages as one setting, `stages=[{steps = 500}, {steps = 100}]`."""
    if not isinstance(value, list) or not all(isinstance(stage, dict) for stage in value):
        raise InputError(f"--set {setting}: expected a list of tables, such as stages=[{{steps = 500}}]")
    return value


def change_stage(stages: list[dict[str, Any]], keys: list[str], value: Any, setting: str) -> None:
    """Put `stages.N.key=value` or `stages.N.table.key=value` in, N counted from 1."""
    number = int(keys[0]) if keys[0].isdecimal() and len(keys[0]) < 6 else 0
    if not 1 <= number <= len(stages):
        raise InputError(f"--set {setting}: there are {len(stages)} stages; the first is stages.1")
    table = stages[number - 1]
    for key in keys[1:-1]:
        table = table.setdefault(key, {})
        if not isinstance(table, dict):
            raise InputError(f"--set {setting}: {key} is no table")
    table[keys[-1]] = value


def merged(before: Settings, changes: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A table with changes put in. If they choose another kind, what that kind shares with the old one stays."""
    values, where = plain_table(before), f"{where}: {before.table}" if where == "--set" else where
    if isinstance(before, KindSettings):
        base = bases()[before.table]
        assert issubclass(base, KindSettings)
        kind = chosen(base, {**values, **changes}, where)
        if kind is not type(before):
            defaults = {each.name: each.default for each in dataclasses.fields(before)}
            shared = registry.fields_of(kind)
            values = {key: value for key, value in values.items() if key in shared and value != defaults.get(key)}
    return {**values, **changes}


def changed_table(before: Settings, changes: Mapping[str, Any], where: str) -> Any:
    """The settings of a stage: those of the run, changed."""
    return convert(merged(before, changes, where), bases()[before.table], where) if changes else before


def build(table: Mapping[str, Any], where: str) -> Config:
    """A config from the tables of a file; `where` starts every error message."""
    known = [*bases(), "stages", "version"]
    for key in table:
        if key not in known:
            raise InputError(f"{where}: unknown key {key!r}{suggestion(key, known)}")
    tables = {name: convert(table[name], base, f"{where}: {name}") for name, base in bases().items() if name in table}
    stages = table.get("stages", [])
    if not isinstance(stages, list):
        raise InputError(f"{where}: stages: expected a list of tables, each under [[stages]]")
    built = tuple(convert(stage, StageSettings, f"{where}: stages, number {n + 1}") for n, stage in enumerate(stages))
    config = Config(**tables, stages=built)
    try:
        config.planned  # noqa: B018  # a stage's tables are checked here
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    return config


def flat(config: Config) -> dict[str, Any]:
    """Every setting by its `table.key`; those of stages as `--set` names them, such as `stages.2.optimizer.kind`."""
    return flat_tables(plain(config))


def flat_tables(tables: Mapping[str, Any], depth: int = 3) -> dict[str, Any]:
    """The settings of tables as TOML and JSON have them: a stage, its tables and their keys are the deepest."""
    settings: dict[str, Any] = {}
    for name, value in tables.items():
        if name == "stages" and isinstance(value, list):
            value = {str(number + 1): stage for number, stage in enumerate(value)}
        if isinstance(value, Mapping) and depth:
            settings |= {f"{name}.{key}": entry for key, entry in flat_tables(value, depth - 1).items()}
        else:
            settings[name] = value
    return settings


def differences(one: Config, other: Config) -> Iterator[str]:
    """The `table.key`s in which two configs differ; of tables of different kinds, also those that one of them lacks."""
    ours, theirs = flat(one), flat(other)
    return (key for key in {**ours, **theirs} if ours.get(key) != theirs.get(key))
