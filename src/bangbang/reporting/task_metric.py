"""The scores of a task as one metric whose statistics can be kept: error bars and tests then need no text again.

Shapes: N examples, S statistics, M scores.
"""

from collections.abc import Sequence

import numpy as np

from bangbang.metrics import Metric
from bangbang.metrics.metric import Array
from bangbang.training.scoring import CAPTION_ROUGE, CAPTIONS, COCO, HEADLINE_ROUGE, HEADLINES, Scorer

_COCO_STATISTICS = 13
_COCO_NAMES = {"cider-d": "cider-d", "coco-rouge-l": "rouge-l", "bleu-4": "bleu-4"}  # ours -> coco-caption's
_COCO_COLUMNS = [COCO.names.index(name) for name in _COCO_NAMES.values()]
_PERCENT = np.array([1.0 if name == "cider-d" else 100.0 for name in CAPTIONS.names])


class HeadlineMetric:
    """ROUGE-1.5.5 F1 × 100: a corpus score is the examples' mean."""

    names, signature = HEADLINES.names, HEADLINES.signature

    def statistics(self, candidates: Sequence[str], references: Sequence[Sequence[str]]) -> Array:
        parts = HEADLINE_ROUGE.statistics(candidates, references)
        return 100 * parts[:, [HEADLINE_ROUGE.names.index(f"{name}.f1") for name in self.names]]

    def aggregate(self, sums: Array, count: int) -> Array:
        return sums / count

    def per_example(self, statistics: Array) -> Array:
        return statistics


class CaptionMetric:
    """CIDEr-D, coco-caption's ROUGE-L and BLEU-4, pyrouge's ROUGE-L; all × 100 but CIDEr-D."""

    names, signature = CAPTIONS.names, CAPTIONS.signature

    def statistics(self, candidates: Sequence[str], references: Sequence[Sequence[str]]) -> Array:
        rouge = CAPTION_ROUGE.statistics(candidates, references)[:, [CAPTION_ROUGE.names.index("rouge-l.f1")]]
        return np.concatenate([COCO.statistics(candidates, references), rouge], axis=1)

    def aggregate(self, sums: Array, count: int) -> Array:
        coco = COCO.aggregate(sums[..., :_COCO_STATISTICS], count)[..., _COCO_COLUMNS]
        return np.asarray(_PERCENT * np.concatenate([coco, sums[..., _COCO_STATISTICS:] / count], axis=-1))

    def per_example(self, statistics: Array) -> Array:
        return self.aggregate(statistics, 1)


def metric_of(scorer: Scorer) -> Metric:
    """The metric whose scores are the scorer's."""
    return CaptionMetric() if scorer.names == CAPTIONS.names else HeadlineMetric()


def main_score(metric: Metric) -> str:
    """The score that the paper judges the task by."""
    return "cider-d" if "cider-d" in metric.names else "rouge-l"
