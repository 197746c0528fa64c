"""One table of many languages: each row's test score in each of them, their mean, and all examples pooled.

A row is a method, its score the mean over seeds, or the ensemble of a method's seeds, by one decoder. It is compared
with the baseline's row of the same kind and decoder, on the examples of all languages together, paired by example.

Shapes: K seeds, N examples, S statistics.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bangbang.contracts import Task
from bangbang.decoding.settings import DecodingSettings, by_method, describe
from bangbang.files import make_folder
from bangbang.metrics import estimates
from bangbang.metrics.metric import Array, lower_is_better
from bangbang.reporting.evaluation import (
    METHODS,
    OWN,
    LabelledRun,
    Work,
    check_decoders,
    identity_of,
    report_metric,
    weights_of,
)
from bangbang.reporting.kept import Kept, key_of
from bangbang.reporting.results import Difference
from bangbang.reporting.rows import differences
from bangbang.tasks import RESAMPLING, signature
from bangbang.training import EnsembleRun, Run

BASELINES = ("MLE", "MLE long")
ENSEMBLES = "ensembles"


class Language(NamedTuple):
    """The runs of one language."""

    name: str
    folder: Path
    """Where what is kept of its ensembles goes."""
    runs: Sequence[LabelledRun]


class Kind(NamedTuple):
    """What makes a row."""

    label: str
    decoding: str
    """As tables name it."""
    ensemble: bool


Statistics = dict[Kind, dict[str, Array]]
"""By kind of row, then by language, what the scores are made of.  [K, N, S]"""


@dataclass(frozen=True)
class LanguageScore:
    value: float
    standard_error: float


@dataclass(frozen=True)
class LanguageRow:
    label: str
    decoding: str
    ensemble: bool
    runs: int
    """Of each language: seeds, or members of the ensemble."""
    scores: dict[str, LanguageScore]
    """By language."""
    mean: LanguageScore | None
    """Over languages, each counted once; None if one of them is missing."""
    pooled: LanguageScore | None
    """Over all examples; None if a language is missing, or has another number of seeds."""
    against: Difference | None
    """Pooled, to the baseline; None for the baseline itself."""


@dataclass(frozen=True)
class LanguageResults:
    title: str
    task: str
    score: str
    less_is_better: bool
    languages: dict[str, int]
    """By name, the number of test examples."""
    rows: list[LanguageRow]
    baseline: str
    """The label that rows are compared with."""
    published: dict[str, dict[str, float]]
    """By name, then by language."""
    resamples: int
    signature: str
    commands: list[str]

    def json(self) -> str:
        return json.dumps(asdict(self), indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def published_mean(self, name: str) -> float | None:
        """Over the languages of this table; None if one of them was not published."""
        found = self.published[name]
        return sum(found.values()) / len(found) if set(found) == set(self.languages) else None


def language_results(
    languages: Sequence[Language],
    decoders: Sequence[str],
    *,
    title: str,
    commands: Sequence[str] = (),
    published: Mapping[str, Mapping[str, float]] | None = None,
    progress: Callable[[str], object] = lambda message: None,
) -> LanguageResults:
    """Decode test splits that are not decoded yet, and compare. Outputs are kept in the runs' folders; those of
    ensembles in the languages'."""
    found, members = Statistics(), dict[Kind, int]()
    for language in languages:
        for decoder in decoders:
            for label, runs in by_label(language.runs).items():
                progress(f"{language.name}: {label}, {decoder}")
                for kind, statistics in row_statistics(language, label, runs, decoder):
                    found.setdefault(kind, {})[language.name] = statistics
                    members[kind] = len(runs)
    first = Run.open(languages[0].runs[0].folder)
    task, labels = first.task, [kind.label for kind in found]
    baseline = next((label for label in BASELINES if label in labels), labels[0])
    counts = {name: each.shape[1] for row in found.values() for name, each in row.items()}
    sizes = {each.name: counts[each.name] for each in languages}
    table = Table(task, list(sizes), found, baseline)
    return LanguageResults(
        title=title,
        task=first.config.task.kind,
        score=task.main,
        less_is_better=task.main in lower_is_better(task.metric),
        languages=sizes,
        rows=[table.row(kind, members[kind]) for kind in sorted(found, key=lambda kind: kind.ensemble)],
        baseline=baseline,
        published={name: dict(row) for name, row in (published or {}).items()},
        resamples=RESAMPLING.resamples,
        signature=signature(task.metric),
        commands=list(commands),
    )


def by_label(runs: Sequence[LabelledRun]) -> dict[str, list[LabelledRun]]:
    found: dict[str, list[LabelledRun]] = {}
    for run in runs:
        found.setdefault(run.label, []).append(run)
    return found


def row_statistics(
    language: Language, label: str, runs: Sequence[LabelledRun], decoder: str
) -> list[tuple[Kind, Array]]:
    """Of the runs one by one, and of several as one."""
    opened = [Run.open(run.folder, run.cache) for run in runs]
    way = way_of(opened[0], decoder)
    own = np.stack([statistics_of(each, each.folder, way, {}) for each in opened])
    found = [(Kind(label, describe(way), False), own)]
    if len(opened) > 1:
        together = EnsembleRun(opened)
        weights = [weights_of(each.checkpoint("best")) for each in opened]
        folder = language.folder / ENSEMBLES / opened[0].folder.name.partition("-seed")[0]
        make_folder(folder)
        one = statistics_of(together, folder, way, {"members": weights, "average": together.average})
        found.append((Kind(label, describe(way), True), one[None]))
    return found


def way_of(run: Run, decoder: str) -> DecodingSettings:
    """What a run decodes by, with its own sizes, and with DUP only if it has that itself."""
    check_decoders((decoder,))
    own = run.config.decoding
    return own if decoder == OWN else by_method(own, METHODS[decoder])


def statistics_of(run: Run, folder: Path, way: DecodingSettings, further: Mapping[str, Any]) -> Array:
    """Of a run's outputs for the test split, decoded once and kept in a folder.  [N, S]"""
    metric = report_metric(run.task)
    kept = Kept.read(folder, {**identity_of(run, run.checkpoint("best"), metric), **further})
    Work(run, kept, metric, lambda lines: None).write(way)
    width = run.task.metric.statistics(["a"], [["a"]]).shape[1]  # a report's metric has one of another family behind
    return np.array(kept.ways[key_of(way)].statistics, dtype=np.float64)[:, :width]


class Table(NamedTuple):
    """What rows are made of."""

    task: Task
    languages: list[str]
    found: Statistics
    baseline: str

    def row(self, kind: Kind, runs: int) -> LanguageRow:
        scores = {language: self.score(each) for language, each in self.found[kind].items()}
        pooled, base = self.pooled(kind), self.pooled(kind._replace(label=self.baseline))
        against = None
        if kind.label != self.baseline and pooled is not None and base is not None:
            against = differences(self.task.metric, pooled, base)[self.task.main]
        return LanguageRow(
            *kind,
            runs,
            scores,
            mean_score(scores) if set(scores) == set(self.languages) else None,
            None if pooled is None else self.score(pooled),
            against,
        )

    def pooled(self, kind: Kind) -> Array | None:
        """All languages' examples as one; None where a language is missing or has another number of seeds."""
        every = self.found.get(kind, {})
        parts = [every[language] for language in self.languages if language in every]
        if len(parts) < len(self.languages) or len({len(part) for part in parts}) > 1:
            return None
        return np.concatenate(parts, axis=1)

    def score(self, statistics: Array) -> LanguageScore:
        metric = self.task.metric
        found = estimates(metric, statistics, RESAMPLING)[metric.names.index(self.task.main)]
        assert found.standard_error is not None
        return LanguageScore(found.value, found.standard_error)


def mean_score(scores: Mapping[str, LanguageScore]) -> LanguageScore:
    """1/L Σ_l s_l ± 1/L √(Σ_l e_l²): test splits are independent of one another."""
    count, every = len(scores), scores.values()
    error = math.sqrt(sum(each.standard_error**2 for each in every)) / count
    return LanguageScore(sum(each.value for each in every) / count, error)
