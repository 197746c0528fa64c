"""The scores of a task: several metrics as one, with error bars, and how people read them.

Shapes: N examples, S statistics, M scores.
"""

from collections.abc import Sequence

import numpy as np

from bangbang import registry
from bangbang.config import Config
from bangbang.contracts import Task
from bangbang.errors import InputError
from bangbang.metrics import Estimate, Metric, Resampling, estimates
from bangbang.metrics.metric import Array, lower_is_better
from bangbang.metrics.settings import MetricSettings

RESAMPLING = Resampling()
TITLES = {
    "rouge-1": "ROUGE-1",
    "rouge-2": "ROUGE-2",
    "rouge-l": "ROUGE-L",
    "cider-d": "CIDEr-D",
    "coco-rouge-l": "ROUGE-L (coco)",
    "bleu-4": "BLEU-4",
    "bleu": "BLEU",
    "chrf": "chrF",
    "ter": "TER",
    "wer": "WER",
    "per": "PER",
    "cer": "CER",
}

Texts = Sequence[str]
References = Sequence[Sequence[str]]


def title(score: str) -> str:
    """A score's name as papers print it."""
    return TITLES.get(score, score)


def shown(score: str, value: float) -> str:
    """A score as papers print it: CIDEr-D is small and gets more decimals."""
    return f"{value:.{3 if score == 'cider-d' else 2}f}"


class Chosen:
    """Some scores of a metric, each under a name and times a factor of our own."""

    def __init__(self, metric: Metric, names: dict[str, str], factors: dict[str, float], signature: str) -> None:
        """`names`: ours → the metric's."""
        self.metric, self.names, self.signature = metric, tuple(names), signature
        self._columns = [metric.names.index(theirs) for theirs in names.values()]
        self._factors = np.array([factors.get(name, 1.0) for name in names])

    def statistics(self, candidates: Texts, references: References) -> Array:
        return self.metric.statistics(candidates, references)

    def aggregate(self, sums: Array, count: int) -> Array:
        return np.asarray(self._factors * self.metric.aggregate(sums, count)[..., self._columns])

    def per_example(self, statistics: Array) -> Array:
        return np.asarray(self._factors * self.metric.per_example(statistics)[..., self._columns])


class Joined:
    """The scores of several metrics side by side; their statistics stand side by side too."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self.metrics = metrics
        self.names = tuple(name for metric in metrics for name in metric.names)
        self.lower_is_better = frozenset[str]().union(*map(lower_is_better, metrics))
        self._widths: list[int] | None = None

    @property
    def signature(self) -> str:
        return " ".join(metric.signature for metric in self.metrics)

    def statistics(self, candidates: Texts, references: References) -> Array:
        parts = [metric.statistics(candidates, references) for metric in self.metrics]
        self._widths = [part.shape[1] for part in parts]
        return np.concatenate(parts, axis=1)

    def parts(self, statistics: Array) -> list[Array]:
        if self._widths is None:  # statistics that were kept: the width of each part is that of any example's
            self.statistics(["a"], [["a"]])
        assert self._widths is not None
        return np.split(statistics, np.cumsum(self._widths)[:-1], axis=-1)

    def aggregate(self, sums: Array, count: int) -> Array:
        pairs = zip(self.metrics, self.parts(sums), strict=True)
        return np.concatenate([metric.aggregate(part, count) for metric, part in pairs], axis=-1)

    def per_example(self, statistics: Array) -> Array:
        pairs = zip(self.metrics, self.parts(statistics), strict=True)
        return np.concatenate([metric.per_example(part) for metric, part in pairs], axis=-1)


def with_further(metric: Metric, further: Sequence[str]) -> Metric:
    """A task's own scores, and those of the metrics that a config adds by name."""
    if not further:
        return metric
    added = []
    for name in further:
        kind = registry.find("metrics", name, "task.metrics")
        assert issubclass(kind, MetricSettings)
        added.append(kind().build())
    return Joined([metric, *added])


def quick(metric: Metric, outputs: Texts, references: References) -> dict[str, float]:
    """Corpus scores without error bars: what a validation during training needs."""
    found = estimates(metric, metric.statistics(outputs, references), None)
    return {name: estimate.value for name, estimate in zip(metric.names, found, strict=True)}


def with_errors(metric: Metric, outputs: Texts, references: References) -> dict[str, Estimate]:
    """Corpus scores with bootstrap standard errors and intervals."""
    return dict(zip(metric.names, estimates(metric, metric.statistics(outputs, references), RESAMPLING), strict=True))


def task_of(config: Config) -> Task:
    """The task of a run. The score that picks its checkpoints must be one of the task's."""
    task = config.task.build()
    if config.metric not in task.metric.names:
        raise InputError(
            f"training.metric = {config.metric!r} is no score of task.kind = {config.task.kind!r}; choose one of "
            f"{', '.join(task.metric.names)}"
        )
    return task


def signature(metric: Metric) -> str:
    """What the scores are, exactly, their error bars included."""
    return f"{metric.signature}|{RESAMPLING.signature}"
