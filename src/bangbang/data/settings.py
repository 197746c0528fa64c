"""The settings of each kind of vocabulary. Nothing here imports torch."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from bangbang.settings import KindSettings


@dataclass(frozen=True)
class VocabularySettings(KindSettings):
    """The tokens that texts are cut to."""

    group: ClassVar[str] = "vocabularies"
    table: ClassVar[str] = "vocabulary"
    joint: ClassVar[str] = " "
    """What stands between two tokens of a text."""


@dataclass(frozen=True)
class TrainedVocabulary(VocabularySettings):
    """A vocabulary of the corpus's own most frequent types."""

    size: int = 220_000
    """Types at most, the four special ones included."""
    min_count: int = 1
    """Types seen less often than this are left out."""
    lowercase: bool = True
    """Whether all text is lower-cased first."""

    def __post_init__(self) -> None:
        self.require(
            size=(self.size <= 10_000_000, "at most 10 million"),
            min_count=(self.min_count >= 1, "at least 1"),
        )


@dataclass(frozen=True)
class Words(TrainedVocabulary):
    """One type per word, as in the paper; words that are too rare become `<unk>`."""

    split: Literal["words", "whitespace", "bare-words"] = "words"
    """`words` parts punctuation from words; `whitespace` is for text that is tokenised already; `bare-words` leaves
    punctuation out, but for marks inside a word (t-shirt, man's): for captions, which are scored without it."""


@dataclass(frozen=True)
class BytePairs(TrainedVocabulary):
    """Byte-level pieces of words: nothing is ever unknown, and texts come back exactly."""

    joint: ClassVar[str] = ""
    split: Literal["words", "whitespace"] = "words"
    """`words` parts punctuation from words; `whitespace` keeps what stands between blanks together."""


KINDS: dict[str, type[VocabularySettings]] = {"word": Words, "bpe": BytePairs}
