"""The settings of `MetricTrainer`: those of transformers' `Seq2SeqTrainer`, and what is trained on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from transformers import Seq2SeqTrainingArguments

from bangbang import registry
from bangbang.contracts import Reward
from bangbang.errors import InputError
from bangbang.hf.legs import Leg, leg_of, stage_name, stage_of
from bangbang.metrics import Metric
from bangbang.objectives.settings import BangBang, ObjectiveSettings
from bangbang.rewards.settings import RewardSettings

# by default, what this package is about
OBJECTIVE, REWARD = registry.name_of(BangBang), registry.default("rewards")


@dataclass
class MetricConfig(Seq2SeqTrainingArguments):  # type: ignore[misc]  # it has no types
    """`Seq2SeqTrainingArguments` with an objective and a reward.

    An objective and a reward are given by name, as a table such as `{"kind": "rouge-n", "max_n": 2}`, or as the
    settings themselves, such as `BangBang(p_drop=0.3)`. `bangbang plugins` lists names and settings.
    """

    # `str` is the second of each, as which HfArgumentParser reads them
    objective: ObjectiveSettings | str | Mapping[str, Any] | None = OBJECTIVE
    """The training method."""
    reward: RewardSettings | str | Mapping[str, Any] | Reward | Callable[[str, list[str]], float] | None = REWARD
    """What it is rewarded by: also a reward of `bangbang.rewards`, or a function of a text and a list of references."""
    p_drop: float | None = None
    """The probability that a token is left to the model, where the objective has one; None leaves it as it is."""
    samples: int | None = None
    """Targets drawn for each example; None leaves it as it is."""
    sampling: str | None = None
    """How targets are drawn, where the objective has several ways; None leaves it as it is."""
    units: str | None = None
    """What the reward is taken over, `tokens` or `words` of the text; None leaves it as the reward has it."""
    max_steps: int = -1
    """Optimizer steps; -1 leaves it to num_train_epochs, or to the stages."""
    stages: list[Any] | None = None
    """A list of `Stage`, or of tables with its fields: one after the other."""
    metric: Metric | str | list[Any] | None = "rouge"
    """What `evaluate` reports: a metric's name, a `bangbang.metrics` metric, or a list of these."""
    max_source_length: int = 512
    """Tokens of an input; longer ones are cut."""
    max_target_length: int = 128
    """Tokens of a target, its end included; longer ones are cut, samples and outputs too."""
    separator: str = "\n"
    """What stands between `source` and `target` for a model without an encoder."""
    predict_with_generate: bool = True
    """Whether `evaluate` generates texts, and scores them."""

    def __post_init__(self) -> None:
        for name in ("max_source_length", "max_target_length"):
            if getattr(self, name) < 1:
                raise InputError(f"MetricConfig: {name} must be at least 1, not {getattr(self, name)}")
        if self.label_smoothing_factor:
            raise InputError("MetricConfig: label_smoothing_factor is not used; set objective=Mle(label_smoothing=...)")
        self.objective = OBJECTIVE if self.objective is None else self.objective
        self.reward = REWARD if self.reward is None else self.reward
        self.stages = [stage_of(each, number) for number, each in enumerate(self.stages or [])]
        self.check_steps()
        super().__post_init__()
        self.legs()

    def check_steps(self) -> None:
        """With stages, max_steps is the sum of theirs."""
        if not self.stages:
            return
        total = sum(stage.steps for stage in self.stages)
        if self.max_steps not in (-1, total):
            raise InputError(f"MetricConfig: max_steps is {self.max_steps}, the stages have {total}; leave it out")
        self.max_steps = total

    def legs(self) -> list[Leg]:
        """The stages with all their settings."""
        if not self.stages:
            return [leg_of(self, None, 0, "MetricConfig")]
        starts = [sum(stage.steps for stage in self.stages[:number]) for number in range(len(self.stages))]
        pairs = zip(self.stages, starts, strict=True)
        return [leg_of(self, stage, start, stage_name(n)) for n, (stage, start) in enumerate(pairs)]

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it: objects by their names."""
        found: dict[str, Any] = super().to_dict()
        return {**found, **self.told()}

    def __getstate__(self) -> dict[str, Any]:
        """What is kept beside a checkpoint: functions and rewards cannot be."""
        return {**vars(self), **self.told()}

    def told(self) -> dict[str, Any]:
        stages = [{name: told(value) for name, value in vars(stage).items()} for stage in self.stages or []]
        return {**{name: told(getattr(self, name)) for name in ("objective", "reward", "metric")}, "stages": stages}


def told(value: Any) -> Any:
    """A value that JSON has, as it is; another in words."""
    if isinstance(value, list | tuple):
        return [told(each) for each in value]
    if value is None or isinstance(value, str | int | float | Mapping):
        return value
    return getattr(value, "__qualname__", None) or (repr(value) if is_settings(value) else type(value).__name__)


def is_settings(value: Any) -> bool:
    return isinstance(value, ObjectiveSettings | RewardSettings)
