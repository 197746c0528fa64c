"""The stages of a training by `MetricTrainer`: objective, reward and rate of each, by name or as they are."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from bangbang import registry
from bangbang.conversion import convert_table, suggestion
from bangbang.errors import InputError
from bangbang.objectives.settings import ObjectiveSettings, check_units
from bangbang.rewards.settings import RewardSettings

if TYPE_CHECKING:
    from bangbang.hf.metric_config import MetricConfig

SHORTHANDS = ("p_drop", "samples", "sampling")  # settings of objectives that the config has itself


@dataclass(frozen=True)
class Stage:
    """A part of a training. None means as in the config."""

    steps: int
    """Optimizer steps of this stage."""
    objective: Any = None
    reward: Any = None
    p_drop: float | None = None
    samples: int | None = None
    sampling: str | None = None
    learning_rate: float | None = None
    """The rate at which its schedule, of the config's kind, begins."""


class Leg(NamedTuple):
    """A stage with all its settings. A training without stages is one leg."""

    first_step: int
    steps: int | None
    """None: as many as there are."""
    objective: ObjectiveSettings
    reward: Any
    """Settings of a reward, a reward, or a function of texts."""
    learning_rate: float


def stage_name(number: int) -> str:
    return f"MetricConfig: stages, number {number + 1}"


def stage_of(value: Any, number: int) -> Stage:
    if isinstance(value, Stage):
        stage = value
    elif isinstance(value, Mapping):
        known = [field.name for field in dataclasses.fields(Stage)]
        for key in value:
            if key not in known:
                raise InputError(f"{stage_name(number)}: unknown key {key!r}{suggestion(key, known)}")
        if "steps" not in value:
            raise InputError(f"{stage_name(number)}: has no steps")
        stage = Stage(**value)
    else:
        raise InputError(f"{stage_name(number)}: expected a Stage or a table, not {value!r}")
    if type(stage.steps) is not int or stage.steps < 1:
        raise InputError(f"{stage_name(number)}: steps must be at least 1, not {stage.steps!r}")
    return stage


def leg_of(config: "MetricConfig", stage: Stage | None, first: int, where: str) -> Leg:
    """The config's settings, changed by those of the stage."""
    part = stage or Stage(1)
    named = config.objective if part.objective is None else part.objective
    given = {name: getattr(part, name) for name in SHORTHANDS if getattr(part, name) is not None}
    others = {name: getattr(config, name) for name in SHORTHANDS if name not in given}
    others = {name: value for name, value in others.items() if value is not None}
    objective = objective_of(named, {}, where)
    if stage is not None:  # what the config says of one objective may be nothing to another
        others = {name: value for name, value in others.items() if name in registry.fields_of(type(objective))}
    reward = reward_of(config.reward if part.reward is None else part.reward, where)
    objective = objective_of(named, {**others, **given}, where)
    if is_text_function(reward):
        objective = by_sequences(objective, where)
    elif config.units is not None:
        reward = in_units(reward, config.units, where)
    if isinstance(reward, RewardSettings):
        check_units(objective, reward, where)
    rate = config.learning_rate if part.learning_rate is None else part.learning_rate
    return Leg(first, None if stage is None else stage.steps, objective, reward, rate)


def objective_of(value: Any, changes: Mapping[str, Any], where: str) -> ObjectiveSettings:
    if isinstance(value, ObjectiveSettings) and not changes:
        return value
    table = table_of(value, ObjectiveSettings)
    if table is None:
        raise InputError(f"{where}: objective must be a name, a table or settings, not {value!r}")
    found = convert_table({**table, **changes}, ObjectiveSettings, f"{where}: objective")
    assert isinstance(found, ObjectiveSettings)
    return found


def table_of(value: Any, base: type[ObjectiveSettings] | type[RewardSettings]) -> dict[str, Any] | None:
    """A kind's settings as a table; None for anything else."""
    if isinstance(value, str):
        return {"kind": value}
    if isinstance(value, base):
        return {"kind": value.kind, **{field.name: getattr(value, field.name) for field in dataclasses.fields(value)}}
    return dict(value) if isinstance(value, Mapping) else None


def reward_of(value: Any, where: str) -> Any:
    """Settings of a reward; a reward and a function as they are."""
    if isinstance(value, RewardSettings):
        return value
    if (table := table_of(value, RewardSettings)) is not None:
        return convert_table(table, RewardSettings, f"{where}: reward")
    if hasattr(value, "start") or is_text_function(value):
        return value
    raise InputError(f"{where}: reward must be a name, settings, a reward or a function of texts, not {value!r}")


def in_units(reward: Any, units: str, where: str) -> RewardSettings:
    """Settings of a reward, taken over these units."""
    table = table_of(reward, RewardSettings)
    if table is None:
        raise InputError(
            f"{where}: units go with a reward by name or settings; Policy.in_words makes words the units of a reward"
        )
    found = convert_table({**table, "units": units}, RewardSettings, f"{where}: reward")
    assert isinstance(found, RewardSettings)
    return found


def is_text_function(reward: Any) -> bool:
    return callable(reward) and not hasattr(reward, "start")


def by_sequences(objective: ObjectiveSettings, where: str) -> ObjectiveSettings:
    """The objective for a reward of whole texts; an InputError if it asks what each token earns."""
    if objective.asks_increments:
        raise InputError(
            f"{where}: objective {objective.kind!r} needs per-token increments, which a function of texts does not "
            "have; choose rloo, scst or mrt, or a reward of bangbang.rewards"
        )
    return dataclasses.replace(objective, credit="sequence") if hasattr(objective, "credit") else objective  # type: ignore[call-arg]
