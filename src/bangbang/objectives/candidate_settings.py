"""The settings of methods that weigh what could be written: whole candidates, or the next tokens. No torch here."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bangbang.errors import InputError
from bangbang.objectives.method_settings import Normalizer, ObjectiveSettings

if TYPE_CHECKING:
    from bangbang.contracts import Objective
    from bangbang.rewards import Reward


@dataclass(frozen=True)
class Mrt(ObjectiveSettings):
    """Minimum risk: the expected reward over a set of candidates, each weighed by the model's own p(z)^α."""

    normalizer: Normalizer = "constant"
    samples: int = 5
    """Candidates that are sampled from the model."""
    greedy: bool = True
    """Whether the greedy output is a candidate."""
    reference: bool = True
    """Whether the reference is a candidate."""
    bang_bang: int = 0
    """Candidates that are sampled as bang-bang SPG does, between the reference and the model."""
    bang_bang_p_drop: float = 0.4
    """Of these, the probability that a token is left to the model."""
    alpha: float = 0.005
    """α, the sharpness of Q(z) ∝ p(z)^α over the candidates; 0 would weigh them evenly."""

    def __post_init__(self) -> None:
        self.require(
            samples=(self.samples >= 0, "at least 0"),
            bang_bang=(self.bang_bang >= 0, "at least 0"),
            bang_bang_p_drop=(0 <= self.bang_bang_p_drop <= 1, "between 0 and 1"),
            alpha=(0 < self.alpha < math.inf, "above 0 and finite"),
        )
        if self.sequences < 2:
            raise InputError(
                f"objective: {self.kind} without candidates: it compares 2 at least, and objective.samples, greedy, "
                f"reference and bang_bang give {self.sequences}"
            )

    @property
    def is_rewarded(self) -> bool:
        return True

    @property
    def asks_increments(self) -> bool:
        return self.bang_bang > 0

    @property
    def sequences(self) -> int:
        return self.samples + self.bang_bang + self.greedy + self.reference

    def build(self, reward: "Callable[[], Reward]", max_length: int) -> "Objective":
        from bangbang.objectives.minimum_risk import MinimumRisk

        return MinimumRisk(self, reward(), max_length)


@dataclass(frozen=True)
class Ocd(ObjectiveSettings):
    """Optimal completion distillation: after each prefix of a sample, the tokens that begin a best completion."""

    samples: int = 1
    """J, sequences drawn from the model for each example."""
    targets: Literal["even", "set"] = "even"
    """What several such tokens are to get: even shares, as in the paper, or a high sum (-log Σ p)."""

    def __post_init__(self) -> None:
        self.require(samples=(self.samples >= 1, "at least 1"))

    @property
    def is_rewarded(self) -> bool:
        return True

    @property
    def asks_increments(self) -> bool:
        return True  # or how a prefix is completed best

    @property
    def label(self) -> str:
        return self.kind.upper() + (" + Sets" if self.targets == "set" else "")

    def build(self, reward: "Callable[[], Reward]", max_length: int) -> "Objective":
        from bangbang.objectives.optimal_completion import OptimalCompletion

        return OptimalCompletion(self, reward(), max_length)
