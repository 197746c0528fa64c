"""The settings of methods that lead from the reference to the model's own tokens. Nothing here imports torch."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bangbang.objectives.method_settings import ObjectiveSettings, linear_rise

if TYPE_CHECKING:
    from bangbang.contracts import Objective
    from bangbang.rewards import Reward


@dataclass(frozen=True)
class ScheduledSampling(ObjectiveSettings):
    """Scheduled sampling: the target is the reference, while some of the tokens that are read are the model's own."""

    p_model: float = 0.25
    """The probability that the model's own token is read instead of the reference's."""
    p_model_delay: int = 0
    """p_model is 0 for so many steps first."""
    p_model_rise: int = 0
    """p_model then rises from 0 over so many steps; 0 means at once. Of a sigmoid, it is k."""
    p_model_shape: Literal["linear", "sigmoid"] = "linear"
    """How it rises in i steps: linearly, or as 1 - k / (k + exp(i / k)), which reaches a half after k · log k steps."""

    def __post_init__(self) -> None:
        curved = self.p_model_shape == "sigmoid"
        self.require(
            p_model=(0 <= self.p_model <= 1, "between 0 and 1"),
            p_model_delay=(self.p_model_delay >= 0, "at least 0"),
            p_model_rise=(self.p_model_rise >= curved, "at least 0, 1 of a sigmoid"),
        )

    @property
    def label(self) -> str:
        schedule = (" late" if self.p_model_delay else "") + (" rising" if self.p_model_rise else "")
        return f"Scheduled sampling {self.p_model:g}{schedule}"

    def p_model_at(self, step: int) -> float:
        """0 for `p_model_delay` steps, then up to p_model."""
        since, k = step - self.p_model_delay, self.p_model_rise
        if self.p_model_shape == "linear" or since < 0:
            return self.p_model * linear_rise(step, self.p_model_delay, k)
        return self.p_model / (1 + k * math.exp(-since / k))  # the paper's form, without its large powers

    def build(self, reward: "Callable[[], Reward]", max_length: int) -> "Objective":
        from bangbang.objectives.scheduled_likelihood import ScheduledLikelihood

        return ScheduledLikelihood(self, max_length)


@dataclass(frozen=True)
class Mixer(ObjectiveSettings):
    """MIXER: maximum likelihood of the reference's first tokens, policy gradient of what the model adds to them."""

    samples: int = 5
    """J, targets drawn for each example."""
    delay: int = 0
    """Maximum likelihood alone for so many steps first."""
    every: int = 1_000
    """Steps between two growths of the sampled part."""
    grow: int = 2
    """Tokens by which it grows, at first when the delay is over; at last it is the whole sequence."""

    def __post_init__(self) -> None:
        self.require(
            samples=(self.samples >= 2, "at least 2"),
            delay=(self.delay >= 0, "at least 0"),
            every=(self.every >= 1, "at least 1"),
            grow=(self.grow >= 1, "at least 1"),
        )

    @property
    def is_rewarded(self) -> bool:
        return True

    def suffix_at(self, step: int) -> int:
        """Δ, the reference's last tokens in whose place the model's own come."""
        since = step - self.delay
        return 0 if since < 0 else self.grow * (1 + since // self.every)

    def build(self, reward: "Callable[[], Reward]", max_length: int) -> "Objective":
        from bangbang.objectives.mixed_incremental import MixedIncremental

        return MixedIncremental(self, reward(), max_length)
