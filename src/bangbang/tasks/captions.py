"""Captions: what an image shows, judged against all references.

coco-caption's CIDEr-D, ROUGE-L and BLEU-4, and the paper's own ROUGE-L, which is pyrouge's: ROUGE-1.5.5 with stemming,
averaged over references. All are × 100, but CIDEr-D, as in the paper.
"""

from collections.abc import Callable, Sequence
from typing import Any

from bangbang.contracts import Inputs, Sources, TrainingSplit
from bangbang.metrics import CocoCaption, Metric, Rouge
from bangbang.tasks.scores import Chosen, Joined, with_further
from bangbang.tasks.settings import TaskSettings

COCO_SCORES = {"cider-d": "cider-d", "coco-rouge-l": "rouge-l", "bleu-4": "bleu-4"}  # ours -> coco-caption's
PERCENT = {"coco-rouge-l": 100.0, "bleu-4": 100.0, "rouge-l": 100.0}


class CaptionTask:
    reads: Inputs = "features"
    main = "cider-d"

    def __init__(self, settings: TaskSettings) -> None:
        coco, pyrouge = CocoCaption(), Rouge(stem=True, metrics=("rouge-l",))
        own = Joined(
            [
                Chosen(coco, COCO_SCORES, PERCENT, coco.signature),
                Chosen(pyrouge, {"rouge-l": "rouge-l.f1"}, PERCENT, pyrouge.signature),
            ]
        )
        self.metric: Metric = with_further(own, settings.metrics)

    def inputs(self, split: TrainingSplit, rows: Any, encode: Callable[[list[str]], list[list[int]]]) -> Sources:
        return split.features(rows)

    def baselines(self, train: TrainingSplit, sources: Sequence[str]) -> dict[str, list[str]]:
        """None: an image has no first words."""
        return {}
