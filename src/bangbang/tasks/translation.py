"""Translation: a text in another language, judged by sacrebleu's BLEU and chrF against all references."""

from collections.abc import Callable, Sequence
from typing import Any

from bangbang.contracts import Inputs, Sources, TrainingSplit
from bangbang.metrics import Metric, SacreBleu
from bangbang.tasks.scores import Joined, with_further
from bangbang.tasks.settings import Translation
from bangbang.tasks.transduction import COPY


class TranslationTask:
    reads: Inputs = "tokens"
    main = "bleu"

    def __init__(self, settings: Translation) -> None:
        own = Joined([SacreBleu("bleu", settings.tokenizer), SacreBleu("chrf")])
        self.metric: Metric = with_further(own, settings.metrics)

    def inputs(self, split: TrainingSplit, rows: Any, encode: Callable[[list[str]], list[list[int]]]) -> Sources:
        return encode(split.sources(rows))

    def baselines(self, train: TrainingSplit, sources: Sequence[str]) -> dict[str, list[str]]:
        """The sources as they are: names and numbers are often right."""
        return {COPY: list(sources)}
