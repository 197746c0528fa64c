"""The scores that training watches and `bangbang evaluate` reports, against all references.

Headlines: ROUGE-1.5.5 F1. Captions: coco-caption's CIDEr-D, ROUGE-L and BLEU-4, and the paper's own ROUGE-L, which is
pyrouge's: ROUGE-1.5.5 with stemming, averaged over references. All are × 100, but CIDEr-D, as in the paper.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from bangbang.config import Config
from bangbang.errors import InputError
from bangbang.metrics import CocoCaption, Rouge
from bangbang.metrics.bootstrap import Estimate, Resampling

RESAMPLING = Resampling()
Texts = Sequence[str]
References = Sequence[Sequence[str]]


class Scorer(NamedTuple):
    """A family of scores."""

    names: tuple[str, ...]
    estimates: Callable[[Texts, References, Resampling | None], Mapping[str, Estimate]]
    signature: str
    """What the scores are, exactly."""

    def quick(self, outputs: Texts, references: References) -> dict[str, float]:
        """Mean scores without error bars: what a validation during training needs."""
        return {name: estimate.value for name, estimate in self.estimates(outputs, references, None).items()}

    def with_errors(self, outputs: Texts, references: References) -> dict[str, Estimate]:
        """Mean scores with bootstrap standard errors and intervals."""
        return dict(self.estimates(outputs, references, RESAMPLING))


HEADLINE_ROUGE = Rouge(metrics=("rouge-1", "rouge-2", "rouge-l"))
CAPTION_ROUGE = Rouge(stem=True, metrics=("rouge-l",))  # as pyrouge: -m, average over references
COCO = CocoCaption()


def headline_scores(outputs: Texts, references: References, resampling: Resampling | None) -> dict[str, Estimate]:
    rouge = HEADLINE_ROUGE.corpus(outputs, references, resampling)
    return {name: percent(estimate.f1) for name, estimate in rouge.items()}


def caption_scores(outputs: Texts, references: References, resampling: Resampling | None) -> dict[str, Estimate]:
    coco = COCO.corpus(outputs, references, resampling)
    rouge = CAPTION_ROUGE.corpus(outputs, references, resampling)
    return {
        "cider-d": coco["cider-d"],
        "coco-rouge-l": percent(coco["rouge-l"]),
        "bleu-4": percent(coco["bleu-4"]),
        "rouge-l": percent(rouge["rouge-l"].f1),
    }


HEADLINES = Scorer(HEADLINE_ROUGE.metrics, headline_scores, f"{HEADLINE_ROUGE.signature}|{RESAMPLING.signature}")
CAPTIONS = Scorer(
    ("cider-d", "coco-rouge-l", "bleu-4", "rouge-l"),
    caption_scores,
    f"{COCO.signature} {CAPTION_ROUGE.signature}|{RESAMPLING.signature}",
)


def scorer_for(config: Config) -> Scorer:
    """The scores of a run: captions for images, headlines for text. `training.metric` must be one of them."""
    scorer = CAPTIONS if config.model.kind == "show_and_tell" else HEADLINES
    if config.training.metric not in scorer.names:
        raise InputError(
            f"training.metric = {config.training.metric!r} is not scored with model.kind = {config.model.kind!r}; "
            f"choose one of {', '.join(scorer.names)}"
        )
    return scorer


def percent(estimate: Estimate) -> Estimate:
    value, *bars = estimate
    return Estimate(100 * value, *(None if bar is None else 100 * bar for bar in bars))


def shown(name: str, value: float) -> str:
    """A score as papers print it: CIDEr-D is small and gets more decimals."""
    return f"{value:.{3 if name == 'cider-d' else 2}f}"
