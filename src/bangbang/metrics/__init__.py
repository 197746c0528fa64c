"""Corpus scores for reporting, each with error bars and a signature that states every option.

`Rouge` is ROUGE-1.5.5, `CocoCaption` is coco-caption, `SacreBleu` wraps sacrebleu's BLEU, chrF and TER. All are
`Metric`s: `estimates` gives a metric's corpus scores, `compare` two systems' difference. Only numpy is needed here.
"""

from bangbang.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
