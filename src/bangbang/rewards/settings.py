"""The settings of each reward, and how it is built. Nothing here imports torch."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from bangbang.contracts import Bounds, RewardInputs
from bangbang.settings import KindSettings

if TYPE_CHECKING:
    from bangbang.rewards import Reward, Sum

Several = Literal["mean", "best"]
Units = Literal["tokens", "words"]


@dataclass(frozen=True)
class RewardSettings(KindSettings):
    """The main reward, which also weighs the loss, and the shaping that corrects it."""

    group: ClassVar[str] = "rewards"
    table: ClassVar[str] = "reward"
    metric: ClassVar[str] = "wer"
    """The metric whose words it counts, where words are its units."""

    several: Several = "mean"
    """How the scores by several references are combined."""
    dup: float = 1.0
    """Weight of DUP, which forbids the same token twice in a row; 0 leaves it out."""
    dup_unless_in_reference: bool = False
    """Whether DUP leaves out repeats that the reference has."""
    eos: float = 1.0
    """Weight of EOS, which forbids an end before the reference's length; 0 leaves it out."""
    length: float = 0.0
    """Weight of EOS's mirror, which from the reference's length on asks for the end; 0 leaves it out."""
    units: Units = "tokens"
    """What it is taken over: the model's tokens, or the words of the decoded text as the metric reads them."""

    def __post_init__(self) -> None:
        weights = ("dup", "eos", "length")
        self.require(**{key: (0 <= getattr(self, key) < math.inf, "at least 0") for key in weights})

    @abstractmethod
    def main(self, inputs: RewardInputs) -> "Reward":
        """The main reward alone."""

    def build(self, inputs: RewardInputs) -> "Reward":
        """The reward over its units."""
        if self.units == "tokens":
            return self.summed(inputs)
        from bangbang.rewards.words import in_words

        return in_words(self.summed, inputs, self.metric)

    def summed(self, inputs: RewardInputs) -> "Sum":
        """The main reward, which is the sum's first part, and its shaping.

        The main reward counts as a share of its bounds, so that its scale and those of the shaping compare.
        """
        from bangbang.rewards.shaping import Dup, Eos, Length
        from bangbang.rewards.state import BaseReward
        from bangbang.rewards.sums import Sum

        shaping: list[tuple[Reward, float]] = [
            (Dup(unless_in_reference=self.dup_unless_in_reference), self.dup),
            (Eos(several=self.several), self.eos),
            (Length(several=self.several), self.length),
        ]
        main = self.main(inputs)
        bounds = main.bounds if isinstance(main, BaseReward) else Bounds()
        parts = [(main, 1 / (bounds.high - bounds.low)), *(part for part in shaping if part[1] > 0)]
        return Sum(*(reward for reward, _ in parts), weights=[weight for _, weight in parts])


@dataclass(frozen=True)
class RougeNSettings(RewardSettings):
    """The average of ROUGE-N over several N; the paper's is that of ROUGE-1, -2 and -3 F1."""

    metric: ClassVar[str] = "rouge"

    min_n: int = 1
    """Shortest n-grams: 2, with `max_n` 2, is ROUGE-2 alone."""
    max_n: int = 3
    """Longest n-grams."""
    measure: Literal["f1", "recall", "precision"] = "f1"
    """What is made of the matches."""
    start_symbol: bool = True
    """Count one `<s>` in n-grams of order 2 and up, so that the first words come first."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(
            max_n=(1 <= self.max_n <= 100, "at least 1 and at most 100"),
            min_n=(1 <= self.min_n <= self.max_n, "at least 1 and at most max_n"),
        )

    def main(self, inputs: RewardInputs) -> "Reward":
        from bangbang.rewards.rouge import RougeN

        orders = range(self.min_n, self.max_n + 1)
        return RougeN(orders=orders, measure=self.measure, start_symbol=self.start_symbol, several=self.several)


@dataclass(frozen=True)
class RougeLSettings(RewardSettings):
    """ROUGE-L: the longest common subsequence, as an F measure."""

    metric: ClassVar[str] = "rouge"

    beta: float = 1.0
    """How much more recall counts than precision (coco-caption: 1.2)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(beta=(0 < self.beta <= 1e6, "above 0 and at most a million"))

    def main(self, inputs: RewardInputs) -> "Reward":
        from bangbang.rewards.rouge import RougeL

        return RougeL(self.beta, several=self.several)


@dataclass(frozen=True)
class GramSettings(RewardSettings):
    """A reward of n-grams up to an order."""

    metric: ClassVar[str] = "bleu"

    max_n: int = 4
    """Longest n-grams."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(max_n=(1 <= self.max_n <= 100, "at least 1 and at most 100"))


@dataclass(frozen=True)
class BleuSettings(GramSettings):
    """Smoothed sentence BLEU; several references are combined by its own rule."""

    start_symbol: bool = True
    """Count one `<s>` in n-grams of order 2 and up, so that the first words come first."""

    def main(self, inputs: RewardInputs) -> "Reward":
        from bangbang.rewards.bleu import Bleu

        return Bleu(self.max_n, start_symbol=self.start_symbol)


@dataclass(frozen=True)
class GleuSettings(GramSettings):
    """Google's GLEU: the smaller of n-gram precision and recall."""

    start_symbol: bool = True
    """Count one `<s>` in n-grams of order 2 and up, so that the first words come first."""

    def main(self, inputs: RewardInputs) -> "Reward":
        from bangbang.rewards.bleu import Gleu

        return Gleu(self.max_n, start_symbol=self.start_symbol, several=self.several)


@dataclass(frozen=True)
class CiderDSettings(GramSettings):
    """CIDEr-D: n-grams weighed by how rare they are among the training references."""

    metric: ClassVar[str] = "coco"

    def main(self, inputs: RewardInputs) -> "Reward":
        from bangbang.rewards.cider_d import CiderD
        from bangbang.rewards.document_frequency import DocumentFrequency

        def counted() -> DocumentFrequency:  # when the first batch asks for it: maximum likelihood never does
            return DocumentFrequency.count(inputs.training_references())

        return CiderD(counted, inputs.texts, max_n=self.max_n, several=self.several)


@dataclass(frozen=True)
class EditDistanceSettings(RewardSettings):
    """Minus the edit distance, relative to the reference's length."""

    unit: Literal["word", "character"] = "word"
    """What is edited."""

    def __post_init__(self) -> None:
        super().__post_init__()
        fits = self.unit == "word" or self.units == "tokens"
        self.require(units=(fits, '"tokens" where unit is "character": characters are those of the text anyway'))

    def main(self, inputs: RewardInputs) -> "Reward":
        from bangbang.rewards.edit_distance import EditDistance

        return EditDistance(self.unit, texts=inputs.texts, separator=inputs.separator, several=self.several)


@dataclass(frozen=True)
class ExactMatchSettings(RewardSettings):
    """1 for the whole text right, else 0: for policy gradients, and as a utility."""

    def main(self, inputs: RewardInputs) -> "Reward":
        from bangbang.rewards.exact_match import ExactMatch

        return ExactMatch(several=self.several)


KINDS: dict[str, type[RewardSettings]] = {
    "rouge-n": RougeNSettings,
    "rouge-l": RougeLSettings,
    "bleu": BleuSettings,
    "gleu": GleuSettings,
    "cider-d": CiderDSettings,
    "edit-distance": EditDistanceSettings,
    "exact-match": ExactMatchSettings,
}
