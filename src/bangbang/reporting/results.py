"""What a report says, as plain values."""

import dataclasses
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from bangbang.errors import InputError
from bangbang.metrics.significance import p_text
from bangbang.reporting.history import Before, Point, StageStart


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
class Reading:
    """What outputs read like, by numbers that training does not see."""

    doubled: float
    """The share of outputs in which a word follows itself."""
    repeating: float
    """The share of outputs that have two neighbouring words twice."""
    cut: float
    """The share of outputs that were cut at the length limit."""
    log_likelihood: float | None = None
    """Of a token, on average, under a model of maximum likelihood of another seed; None where there is none."""


@dataclass(frozen=True)
class Side:
    """A row's test outputs, in one way of decoding."""

    scores: dict[str, Score]
    against: dict[str, dict[str, Difference]]
    """By baseline's label, then by score."""
    words: float
    """Mean length of an output."""
    reading: Reading
    decoding: str = ""
    """The way, as tables name it."""
    validation: float | None = None
    """The main score of validation examples, the mean over seeds; None where there is one decoder alone."""


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
    steps: int
    seconds: float
    before: Before | None
    """What was trained before, where it started from another run's weights; None where that run is gone."""
    examples_per_second: float
    validations: list[Point]
    stages: list[StageStart]
    """Where its stages began; none where it has none."""


@dataclass(frozen=True)
class Best:
    """A row in the way of decoding that validation liked best."""

    decoder: str
    against: dict[str, dict[str, Difference]]
    """By baseline's label, then by score: the difference to the baseline in its own best way."""


@dataclass(frozen=True)
class Row:
    label: str
    extension: bool
    """Whether it is not the paper's."""
    objective: str
    """Of the last stage, where there are several."""
    family: str
    """Of rows of one family, validation picks the one that may win."""
    p_drop: float | None
    """Of bang-bang SPG."""
    with_dup: Side
    """Decoded greedily."""
    without_dup: Side
    decoded: dict[str, Side]
    """By decoder, the greedy one with DUP first."""
    best: Best
    runs: list[RunFacts]

    @property
    def seeds(self) -> list[int]:
        return [run.seed for run in self.runs]

    def mean(self, field: Literal["best_score", "best_step", "examples_per_second"]) -> float:
        """Of a number, over the runs."""
        return sum(float(getattr(run, field)) for run in self.runs) / len(self.runs)

    def total(self, field: Literal["steps", "seconds"]) -> float:
        """Of steps or seconds, with what was trained before as far as that is known, the mean over the runs."""
        every = [part for run in self.runs for part in (run, run.before) if part is not None]
        return sum(float(getattr(part, field)) for part in every) / len(self.runs)

    @property
    def is_whole(self) -> bool:
        """Whether all that was trained before is known."""
        return all(run.before is not None for run in self.runs)


@dataclass(frozen=True)
class Sample:
    """An example with what every row wrote for it, its first seed, decoded greedily."""

    number: int
    """Of the test example, from 1."""
    source: str
    references: list[str]
    outputs: dict[str, str]
    """By row's label, as people write them."""


@dataclass(frozen=True)
class Results:
    title: str
    answer: list[str]
    """Which row won, by how much, and how sure that is."""
    task: str
    main: str
    """The score that the task is judged by."""
    scores: list[str]
    less: list[str]
    """The scores of which less is better."""
    other: str
    """A score of another family, which no reward pays."""
    decoders: list[str]
    """The ways of decoding beside one another, the greedy one first."""
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
    unjudged: str
    """Why rows have no likelihood of their outputs; empty if they have."""
    samples: list[Sample]
    """Some outputs of every row, evenly spread over the test split."""
    signature: str
    versions: dict[str, str]
    commands: list[str]

    @property
    def sign(self) -> float:
        """What turns the main score into one of which more is better."""
        return -1.0 if self.main in self.less else 1.0

    def gain(self, found: Difference) -> float:
        """A difference of the main score; above 0 where the row is the better one."""
        return self.sign * found.value

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
