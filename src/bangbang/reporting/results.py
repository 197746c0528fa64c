"""What a report says, as plain values: the table's rows, and what a run's metrics.jsonl tells of its training."""

import dataclasses
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bangbang.config import Config
from bangbang.errors import InputError
from bangbang.metrics.metric import lower_is_better
from bangbang.metrics.significance import p_text
from bangbang.plain_files import read_plain
from bangbang.tasks import task_of
from bangbang.training.journal import METRICS_BYTES


@dataclass(frozen=True)
class Point:
    """One validation."""

    step: int
    seconds: float
    scores: dict[str, float]


@dataclass(frozen=True)
class StageStart:
    """Where a stage began."""

    step: int
    """Steps taken before."""
    seconds: float
    label: str
    """The stage's training method."""


@dataclass(frozen=True)
class History:
    validations: list[Point]
    stages: list[StageStart]
    """The first one too; none where the config has no stages."""
    seconds: float
    """Of training, validations included."""
    examples_per_second: float

    less: frozenset[str] = frozenset()
    """The scores of which less is better."""

    def best(self, score: str) -> Point:
        """The validation of the best score; the first of equals, as training counts."""
        best = min if score in self.less else max
        return best(self.validations, key=lambda point: point.scores[score])


def read_history(folder: Path, config: Config) -> History:
    path, metric = folder / "metrics.jsonl", task_of(config).metric
    lines = read_lines(path)
    try:
        validations = [
            Point(int(line["step"]), float(line["seconds"]), {name: float(line[name]) for name in metric.names})
            for line in lines
            if line["kind"] == "valid"
        ]
        stages = [
            StageStart(int(line["step"]), float(line["seconds"]), str(line["label"]))
            for line in lines
            if line["kind"] == "stage"
        ]
        rates = [float(line["examples_per_second"]) for line in lines if line["kind"] == "train"]
        seconds = max(float(line["seconds"]) for line in lines)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{path}: damaged, or without a validation ({error})") from None
    if not validations:
        raise InputError(f"{path}: has no validation; train until there is one, `training.validate_every` steps")
    for point in validations:
        check_finite(point, path)
    return History(validations, stages, seconds, mean_rate(rates), lower_is_better(metric))


def check_finite(point: Point, path: Path) -> None:
    for name, score in point.scores.items():
        if not math.isfinite(score):
            raise InputError(f"{path}: {name} of step {point.step} is {score}; leave out that run, or that metric")


def mean_rate(rates: list[float]) -> float:
    """All examples over all time, where each rate is of as many steps: the harmonic mean."""
    rates = [rate for rate in rates if rate > 0 and math.isfinite(rate)]
    return len(rates) / sum(1 / rate for rate in rates) if rates else 0.0


def read_lines(path: Path) -> list[dict[str, Any]]:
    try:
        lines = [json.loads(line) for line in read_plain(path, METRICS_BYTES).decode("utf-8").splitlines()]
    except OSError as error:
        raise InputError(f"{path}: damaged or missing ({error.strerror})") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"{path}: damaged ({str(error) or 'larger than the memory'})") from None
    if not all(isinstance(line, dict) for line in lines):
        raise InputError(f"{path}: damaged (a line that is no JSON object)")
    return lines


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
        """An InputError names the first number that is not finite, which JSON does not have."""
        for place in not_finite(self.plain(), "the results"):
            raise InputError(f"{place} is not a finite number; leave out that run, or that metric")
        return json.dumps(self.plain(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def not_finite(value: Any, place: str) -> Iterator[str]:
    """Where in plain values there is a NaN or an infinity."""
    if isinstance(value, float) and not math.isfinite(value):
        yield place
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in entries:
        yield from not_finite(entry, f"{place}, {key}")
