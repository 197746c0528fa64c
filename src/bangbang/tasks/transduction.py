"""Transduction: a string from a string, such as phones from letters, judged by word error rate against all references.

Word error rate is the share of outputs that are not exactly right × 100. Beside it stands the error rate of symbols:
of phones, or of characters where an output is made of these.
"""

from collections.abc import Callable, Sequence
from typing import Any

from bangbang.contracts import Inputs, Sources, TrainingSplit
from bangbang.metrics import ErrorRates, Metric
from bangbang.tasks.scores import with_further
from bangbang.tasks.settings import Transduction

COPY = "copy of the source"


class TransductionTask:
    reads: Inputs = "tokens"
    main = "wer"

    def __init__(self, settings: Transduction) -> None:
        self.between = " " if settings.symbols == "between-blanks" else ""
        own = ErrorRates("symbols" if self.between else "characters")
        self.metric: Metric = with_further(own, settings.metrics)

    def inputs(self, split: TrainingSplit, rows: Any, encode: Callable[[list[str]], list[list[int]]]) -> Sources:
        return encode(split.sources(rows))

    def baselines(self, train: TrainingSplit, sources: Sequence[str]) -> dict[str, list[str]]:
        """The characters of each source as they are; what stands after a tab is left out."""
        return {COPY: [self.between.join(source.partition("\t")[0]) for source in sources]}
