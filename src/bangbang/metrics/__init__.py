"""Corpus scores for reporting, each with error bars and a signature that states every option.

`Rouge` is ROUGE-1.5.5, `CocoCaption` is coco-caption, `SacreBleu` wraps sacrebleu's BLEU, chrF and TER. All are
`Metric`s: `estimates` gives a metric's corpus scores, `compare` two systems' difference. Only numpy is needed here.
"""

from bangbang.metrics.bootstrap import Estimate, Resampling, estimates
from bangbang.metrics.coco_caption import CocoCaption
from bangbang.metrics.comparison import Comparison, ScoreComparison, compare
from bangbang.metrics.metric import Metric
from bangbang.metrics.rouge import Rouge, RougeEstimate, RougeScore
from bangbang.metrics.sacre import SacreBleu

__all__ = [
    "CocoCaption",
    "Comparison",
    "Estimate",
    "Metric",
    "Resampling",
    "Rouge",
    "RougeEstimate",
    "RougeScore",
    "SacreBleu",
    "ScoreComparison",
    "compare",
    "estimates",
]
