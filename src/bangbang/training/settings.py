"""How a run is trained: optimiser, limits, stages. Nothing here imports torch."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from bangbang.settings import Settings


@dataclass(frozen=True)
class OptimizerSettings(Settings):
    """How gradients become updates."""

    table: ClassVar[str] = "optimizer"

    kind: Literal["adagrad", "adamw"] = "adagrad"
    """The paper's Adagrad, or AdamW."""
    learning_rate: float = 0.01
    """The rate after warm-up."""
    weight_decay: float = 0.0
    """Share of each weight taken off per step, times the rate."""
    initial_accumulator: float = 0.1
    """Adagrad only: what each accumulator starts from (the paper's TensorFlow had 0.1)."""
    clip_norm: float = 4.0
    """Gradients whose norm is larger are scaled down to it."""
    warmup_steps: int = 0
    """The rate rises linearly over these steps."""
    decay: Literal["none", "cosine"] = "none"
    """`cosine` lets the rate fall to zero at the last step of the run, or of its stage."""
    average_decay: float = 0.0
    """d of the average of weights, w̄ ← d·w̄ + (1-d)·w after each step of a stage, by which a run is validated, kept and
    used; such as 0.999. 0 means the weights themselves."""

    def __post_init__(self) -> None:
        self.require(
            learning_rate=(0 < self.learning_rate <= 1e6, "above 0 and at most a million"),
            weight_decay=(0 <= self.weight_decay <= 1e6, "at least 0 and at most a million"),
            initial_accumulator=(0 <= self.initial_accumulator <= 1e6, "at least 0 and at most a million"),
            clip_norm=(self.clip_norm > 0, "above 0"),
            warmup_steps=(self.warmup_steps >= 0, "at least 0"),
            average_decay=(0 <= self.average_decay < 1, "at least 0 and below 1"),
        )


@dataclass(frozen=True)
class TrainingSettings(Settings):
    """How long, how often, how exactly."""

    table: ClassVar[str] = "training"

    batch_size: int = 200
    """Examples per step and process."""
    max_steps: int = 10_000_000
    """Steps at most, those of all stages together; stages that have more are cut short."""
    max_minutes: float = 0.0
    """Wall-clock budget; 0 means none. The last validation comes after it."""
    validate_every: int = 5_000
    """Steps between two validations, each followed by a checkpoint."""
    checkpoint_minutes: float = 10.0
    """A checkpoint, too, when the last one is so many minutes old; 0 means at validations alone."""
    validation_examples: int = 0
    """Use only the first so many validation examples; 0 means all."""
    metric: str = ""
    """The validation score that picks the best checkpoint, one of the task's; empty means the task's own choice."""
    patience: int = 0
    """End the run, in whatever stage it is, after so many validations without a better score; 0 means never."""
    keep_checkpoints: int = 2
    """Newest checkpoints kept beside the best one."""
    max_skipped: int = 10
    """Stop when so many steps in a row had a loss or a gradient that is not finite; each such step changes nothing."""
    log_every: int = 50
    """Steps between two lines of metrics.jsonl."""
    init: str = ""
    """A run whose best weights to start from; empty means a cold start."""
    seed: int = 1
    """Of the weights, the order of the data and all noise."""
    mixed_precision: Literal["no", "bf16"] = "no"
    """`bf16`: products in bfloat16. On a CPU it is tried first whether they work."""

    def __post_init__(self) -> None:
        counts = ("batch_size", "max_steps", "validate_every", "keep_checkpoints", "max_skipped", "log_every")
        self.require(**{key: (getattr(self, key) >= 1, "at least 1") for key in counts})
        amounts = ("max_minutes", "checkpoint_minutes", "validation_examples", "patience", "seed")
        self.require(**{key: (0 <= getattr(self, key) < math.inf, "at least 0") for key in amounts})


@dataclass(frozen=True)
class StageSettings(Settings):
    """A part of a run that is trained in its own way. What its tables leave out is as in the tables of the run."""

    table: ClassVar[str] = "stages"

    steps: int = 0
    """Steps of this stage."""
    start: Literal["last", "best"] = "last"
    """The weights it goes on with: the last ones, or those of the best validation so far."""
    batch_size: int = 0
    """Examples per step and process; 0 means as in [training]."""
    references: Literal["", "own", "all"] = ""
    """What the reward compares with: the example's own reference, or all of its source; empty means as in [data]."""
    objective: Mapping[str, Any] = field(default_factory=dict)
    """What differs in [objective]."""
    reward: Mapping[str, Any] = field(default_factory=dict)
    """What differs in [reward]."""
    optimizer: Mapping[str, Any] = field(default_factory=dict)
    """What differs in [optimizer]; its schedule is that of the stage, and its state begins anew."""

    def __post_init__(self) -> None:
        self.require(steps=(self.steps >= 1, "at least 1"), batch_size=(self.batch_size >= 0, "at least 0"))
