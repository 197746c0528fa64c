"""What a run's metrics.jsonl tells of its training, and of the run whose weights it started from."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bangbang import config as configs
from bangbang.config import Config
from bangbang.errors import InputError
from bangbang.metrics.metric import lower_is_better
from bangbang.plain_files import read_plain
from bangbang.tasks import task_of
from bangbang.training.journal import METRICS_BYTES

GENERATIONS = 20  # of runs that start from one another


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
    steps: int
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
        steps = max(int(line["step"]) for line in lines)
        seconds = max(float(line["seconds"]) for line in lines)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{path}: damaged, or without a validation ({error})") from None
    if not validations:
        raise InputError(f"{path}: has no validation; train until there is one, `training.validate_every` steps")
    for point in validations:
        check_finite(point, path)
    return History(validations, stages, steps, seconds, mean_rate(rates), lower_is_better(metric))


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
class Before:
    """What was trained before a run: the run whose weights it started from, and what that one started from."""

    steps: int = 0
    seconds: float = 0.0


def read_before(config: Config, generations: int = GENERATIONS) -> Before | None:
    """Nothing for a cold start; None where a run that it started from is gone."""
    if not config.training.init:
        return Before()
    folder = Path(config.training.init)
    try:
        start = configs.read(folder / "config.toml", old=True)
        history = read_history(folder, start)
    except InputError:
        return None
    earlier = read_before(start, generations - 1) if generations else None
    return earlier and Before(earlier.steps + history.steps, earlier.seconds + history.seconds)
