"""The settings of each method: the run's own where it is trained by that method, the defaults elsewhere."""

from dataclasses import replace
from typing import NamedTuple

from bangbang.objectives import BangBang, ObjectiveSettings, Pg, Raml, Sampling, Spg
from bangbang.objectives.policy_gradients import bang_bang_sampling, pg_sampling, spg_sampling


class Methods(NamedTuple):
    """What is compared with maximum likelihood, which has no settings."""

    raml: Raml
    bbspg: Sampling
    spg: Sampling
    pg: Sampling

    @classmethod
    def of(
        cls, own: ObjectiveSettings, step: int, p_drop: float | None = None, weight: float | None = None
    ) -> "Methods":
        """`p_drop` of bang-bang SPG and the finite `weight` W of SPG, where given, take the place of the run's own."""
        raml = own if isinstance(own, Raml) else Raml()
        return cls(raml, bang_bang(own, step, p_drop), finite_spg(own, weight), pg_sampling(Pg()))


def bang_bang(own: ObjectiveSettings, step: int, p_drop: float | None = None) -> Sampling:
    """Bang-bang SPG as the run has it at a step of its stage."""
    settings = own if isinstance(own, BangBang) else BangBang()
    if p_drop is not None:
        settings = replace(settings, p_drop=p_drop, p_drop_delay=0, p_drop_rise=0)
    return bang_bang_sampling(settings, step)


def finite_spg(own: ObjectiveSettings, weight: float | None = None) -> Sampling:
    settings = own if isinstance(own, Spg) else Spg()
    return spg_sampling(settings if weight is None else replace(settings, reward_weight=weight))
