"""The settings of each method: the run's own where it is trained by that method, the defaults elsewhere."""

import math
from dataclasses import replace
from typing import NamedTuple

from bangbang.config import ObjectiveConfig
from bangbang.objectives import Settings
from bangbang.objectives.objective import method_settings

WEIGHT = (
    30.0  # W of SPG where the run has no finite one: large enough to be seen, small enough for the model to be heard
)


class Methods(NamedTuple):
    """What is compared with maximum likelihood, which has no settings."""

    raml: ObjectiveConfig
    bbspg: Settings
    spg: Settings
    pg: Settings

    @classmethod
    def of(
        cls, config: ObjectiveConfig, step: int, p_drop: float | None = None, weight: float | None = None
    ) -> "Methods":
        """`p_drop` of bang-bang SPG and the finite `weight` W of SPG, where given, take the place of the run's own."""
        raml = config if config.kind == "raml" else ObjectiveConfig(kind="raml")
        return cls(raml, bang_bang(config, step, p_drop), finite_spg(config, weight), method_settings(PG, 0))


PG = ObjectiveConfig(kind="pg")


def bang_bang(config: ObjectiveConfig, step: int, p_drop: float | None = None) -> Settings:
    """Bang-bang SPG as the run has it at `step`."""
    own = config if config.kind == "bbspg" else ObjectiveConfig(kind="bbspg")
    if p_drop is not None:
        own = replace(own, p_drop=p_drop, p_drop_delay=0, p_drop_rise=0)
    return method_settings(own, step)


def finite_spg(config: ObjectiveConfig, weight: float | None = None) -> Settings:
    if weight is None:
        weight = WEIGHT if math.isinf(config.reward_weight) else config.reward_weight
    return method_settings(ObjectiveConfig(kind="spg", reward_weight=weight), 0)
