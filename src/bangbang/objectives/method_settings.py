"""What the settings of all training methods share. Nothing here imports torch."""

import dataclasses
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from bangbang.errors import InputError
from bangbang.settings import KindSettings

if TYPE_CHECKING:
    from bangbang.contracts import Objective
    from bangbang.rewards import Reward
    from bangbang.rewards.settings import RewardSettings

Normalizer = Literal["positions", "sequences", "constant"]


@dataclass(frozen=True)
class ObjectiveSettings(KindSettings):
    """What is trained on: how a target is proposed, and how much it counts."""

    group: ClassVar[str] = "objectives"
    table: ClassVar[str] = "objective"
    papers_choices: ClassVar[frozenset[str] | None] = None
    """The settings that the paper varies; None for a method that the paper does not have."""
    family: ClassVar[str] = ""
    """Methods of one family are one contestant in a report: validation picks the row that stands for them."""

    normalizer: Normalizer = "positions"
    """What the sum of the losses is divided by: the positions in the loss, the sequences, or a constant, which is the
    sequences times data.max_target_length. The number of positions is random where targets are sampled."""

    @property
    def is_rewarded(self) -> bool:
        """Whether the [reward] table matters."""
        return False

    @property
    def asks_increments(self) -> bool:
        """Whether it asks the reward what each next token would earn, and not only what a sequence earns."""
        return False

    @property
    def words_fault(self) -> str:
        """What hinders a reward that pays whole words; empty if nothing does."""
        return "asks what each next token earns" if self.asks_increments else ""

    @property
    def label(self) -> str:
        """How reports name it."""
        return self.kind.upper()

    @property
    def is_the_papers(self) -> bool:
        """Whether the paper has this very method, whatever it chooses among its own choices."""
        if self.papers_choices is None:
            return False
        others = (field for field in dataclasses.fields(self) if field.name not in self.papers_choices)
        return all(getattr(self, field.name) == field.default for field in others)

    @property
    def sequences(self) -> int:
        """How many a step makes for each example: what its memory grows with."""
        return int(getattr(self, "samples", 1))

    @property
    def needs_start(self) -> bool:
        """Whether the method is an `AnchoredObjective`, which compares the model with that of its stage's start."""
        return False

    @abstractmethod
    def build(self, reward: "Callable[[], Reward]", max_length: int) -> "Objective":
        """The method; `reward` makes the [reward] table's reward when it is called."""


def check_units(objective: ObjectiveSettings, reward: "RewardSettings", where: str) -> None:
    """An InputError if the method cannot take the reward's units."""
    if objective.is_rewarded and reward.units == "words" and objective.words_fault:
        raise InputError(
            f'{where}: objective {objective.kind!r} {objective.words_fault} where reward.units = "words"; change it, '
            'choose bbspg, rloo, scst, mrt, pg or mixer, or set units = "tokens"'
        )


def linear_rise(step: int, delay: int, rise: int) -> float:
    """0 for `delay` steps, then linearly up to 1 over `rise` steps, or at once."""
    since = step - delay
    if since < 0:
        return 0.0
    return min(1.0, since / rise) if rise else 1.0
