"""What a report says, as plain values: the table's rows, and all that is needed to check or repeat them."""

import dataclasses
import json
from dataclasses import dataclass
from typing import Any, Literal

from bangbang.metrics.significance import p_text
from bangbang.reporting.history import Point, StageStart


@dataclass(frozen=True)
class Score:
    """A test score, the mean over seeds."""

    value: float
    standard_error: float
    """By resampling examples, each for all seeds."""
    low: float
    high: float
    spread: float | None
    """Standard deviation over seeds; None with one seed."""


@dataclass(frozen=True)
class Difference:
    """A row's score less a baseline's, paired by example."""

    value: float
    standard_error: float
    low: float
    high: float
    p_bootstrap: float
    p_randomisation: float


@dataclass(frozen=True)
class Side:
    """A row's test outputs, in one way of decoding."""

    scores: dict[str, Score]
    against: dict[str, dict[str, Difference]]
    """By baseline's label, then by score."""
    words: float
    """Mean length of an output."""


@dataclass(frozen=True)
class RunFacts:
    """One training."""

    folder: str
    seed: int
    checkpoint: str
    chosen_by: str
    """The validation score that picked the checkpoint."""
    scores: dict[str, float]
    """On the test split, with DUP."""
    best_score: float
    best_step: int
    seconds: float
    examples_per_second: float
    validations: list[Point]
    stages: list[StageStart]
    """Where its stages began; none where it has none."""


@dataclass(frozen=True)
class Row:
    label: str
    extension: bool
    objective: str
    """Of the last stage, where there are several."""
    p_drop: float | None
    """Of bang-bang SPG."""
    with_dup: Side
    without_dup: Side
    runs: list[RunFacts]

    @property
    def seeds(self) -> list[int]:
        return [run.seed for run in self.runs]

    def mean(self, field: Literal["best_score", "best_step", "seconds", "examples_per_second"]) -> float:
        """Of a number, over the runs."""
        return sum(float(getattr(run, field)) for run in self.runs) / len(self.runs)


@dataclass(frozen=True)
class Results:
    title: str
    task: str
    main: str
    """The score that the task is judged by."""
    scores: list[str]
    examples: int
    resamples: int
    """Of the examples, for error bars and tests: no p-value is below 1 / (1 + resamples)."""
    rows: list[Row]
    baselines: list[str]
    """Labels that rows are compared with, as far as there are such rows."""
    corpus: dict[str, str]
    """Its name and fingerprint."""
    caveat: str
    """What is to be said of it wherever results are shown."""
    signature: str
    versions: dict[str, str]
    commands: list[str]

    def row(self, label: str) -> Row:
        return next(row for row in self.rows if row.label == label)

    def p_text(self, difference: Difference) -> str:
        """ "p = 0.021", by approximate randomisation."""
        return f"p {p_text(difference.p_randomisation, self.resamples)}"

    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return dataclasses.asdict(self)

    def json(self) -> str:
        return json.dumps(self.plain(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
