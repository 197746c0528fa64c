"""Headlines: a short text from a longer one, judged by ROUGE-1.5.5 F1 × 100 against all references."""

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

from bangbang.contracts import Inputs, Sources, TrainingSplit
from bangbang.metrics import Metric, Rouge
from bangbang.tasks.scores import Chosen, with_further
from bangbang.tasks.settings import TaskSettings

SCORES = ("rouge-1", "rouge-2", "rouge-l")
SAMPLED = 2_000  # training references, whose mean length is that of the baseline


class HeadlineTask:
    reads: Inputs = "tokens"
    main = "rouge-l"

    def __init__(self, settings: TaskSettings) -> None:
        rouge = Rouge(metrics=SCORES)
        percent = dict.fromkeys(SCORES, 100.0)
        own = Chosen(rouge, {name: f"{name}.f1" for name in SCORES}, percent, rouge.signature)
        self.metric: Metric = with_further(own, settings.metrics)

    def inputs(self, split: TrainingSplit, rows: Any, encode: Callable[[list[str]], list[list[int]]]) -> Sources:
        return encode(split.sources(rows))

    def baselines(self, train: TrainingSplit, sources: Sequence[str]) -> dict[str, list[str]]:
        """The first words of each source, as many as a training reference has on average."""
        count = mean_words(train)
        return {f"lead {count} words": lead_words(sources, count)}


def lead_words(sources: Sequence[str], count: int) -> list[str]:
    """The first `count` words of each source."""
    return [" ".join(source.split()[:count]) for source in sources]


def mean_words(train: TrainingSplit) -> int:
    """The mean number of words of the training references, from an even sample."""
    rows = train.references(train.spread(SAMPLED))
    return max(1, round(fmean(len(reference.split()) for references in rows for reference in references)))
