"""The settings of each metric, and how it is built. Nothing here imports torch."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from bangbang.settings import KindSettings

if TYPE_CHECKING:
    from bangbang.metrics import Metric


@dataclass(frozen=True)
class MetricSettings(KindSettings):
    """A family of scores."""

    group: ClassVar[str] = "metrics"
    table: ClassVar[str] = "metric"
    decimals: ClassVar[int] = 2
    """Of a score as its home program prints it."""

    @abstractmethod
    def build(self) -> "Metric": ...


@dataclass(frozen=True)
class RougeSettings(MetricSettings):
    """ROUGE-1.5.5."""

    decimals: ClassVar[int] = 4
    stem: bool = False
    """Stem words, as -m does."""
    max_bytes: int = 0
    """Cut all texts after so many bytes, as -b does; 0 means never."""
    multi: Literal["average", "best"] = "average"
    """Several references: all as one (-f A), or the best (-f B)."""
    metrics: tuple[str, ...] = ("rouge-1", "rouge-2", "rouge-3", "rouge-l")
    """Which scores."""

    def build(self) -> "Metric":
        from bangbang.metrics.rouge import Rouge

        return Rouge(self.stem, self.max_bytes or None, self.multi, self.metrics)


@dataclass(frozen=True)
class CocoSettings(MetricSettings):
    """coco-caption's BLEU, ROUGE-L and CIDEr-D, with its tokeniser."""

    decimals: ClassVar[int] = 4

    def build(self) -> "Metric":
        from bangbang.metrics.coco_caption import CocoCaption

        return CocoCaption()


@dataclass(frozen=True)
class SacreBleuSettings(MetricSettings):
    """A metric of sacrebleu, with its defaults."""

    score: ClassVar[Literal["bleu", "chrf", "ter"]]

    def build(self) -> "Metric":
        from bangbang.metrics.sacre import SacreBleu

        return SacreBleu(self.score)


@dataclass(frozen=True)
class BleuScoreSettings(SacreBleuSettings):
    """sacrebleu's corpus BLEU."""

    score: ClassVar[Literal["bleu", "chrf", "ter"]] = "bleu"


@dataclass(frozen=True)
class ChrfSettings(SacreBleuSettings):
    """sacrebleu's chrF."""

    score: ClassVar[Literal["bleu", "chrf", "ter"]] = "chrf"


@dataclass(frozen=True)
class TerSettings(SacreBleuSettings):
    """sacrebleu's TER, of which less is better."""

    score: ClassVar[Literal["bleu", "chrf", "ter"]] = "ter"


@dataclass(frozen=True)
class ErrorRateSettings(MetricSettings):
    """Word error rate, the share of texts that are not exactly right, and the error rate of their symbols."""

    unit: ClassVar[Literal["symbols", "characters"]] = "symbols"

    def build(self) -> "Metric":
        from bangbang.metrics.error_rates import ErrorRates

        return ErrorRates(self.unit)


@dataclass(frozen=True)
class CharacterErrorSettings(ErrorRateSettings):
    """Word error rate, the share of texts that are not exactly right, and the error rate of their characters."""

    unit: ClassVar[Literal["symbols", "characters"]] = "characters"


KINDS: dict[str, type[MetricSettings]] = {
    "rouge": RougeSettings,
    "coco": CocoSettings,
    "bleu": BleuScoreSettings,
    "chrf": ChrfSettings,
    "ter": TerSettings,
    "wer": ErrorRateSettings,
    "cer": CharacterErrorSettings,
}
