"""The settings of each kind of vocabulary. Nothing here imports torch."""

from __future__ import annotations

import dataclasses
import hashlib
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from bangbang.errors import InputError
from bangbang.plain_files import open_plain
from bangbang.settings import KindSettings
from bangbang.symbols import SYMBOLS

if TYPE_CHECKING:
    from bangbang.contracts import Vocabulary


@dataclass(frozen=True)
class VocabularySettings(KindSettings):
    """The tokens that texts are cut to."""

    group: ClassVar[str] = "vocabularies"
    table: ClassVar[str] = "vocabulary"

    @property
    def identity(self) -> dict[str, Any]:
        """What the vocabulary depends on beside the texts: corpora made with equal ones are the same."""
        return {"kind": self.kind, **dataclasses.asdict(self)}

    def check(self) -> None:
        """Raise an InputError for what can be seen to be wrong before there are texts."""

    @abstractmethod
    def build(self, texts: Iterable[str]) -> Vocabulary:
        """The vocabulary of a corpus with these training texts."""


@dataclass(frozen=True)
class TrainedSettings(VocabularySettings):
    """A vocabulary of the corpus's own most frequent types."""

    least: ClassVar[int] = len(SYMBOLS) + 1
    """The smallest size: the special tokens and a word."""
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

    def check(self) -> None:
        if self.size < self.least:
            raise InputError(
                f"vocabulary.size = {self.size}: a {self.kind} vocabulary needs {self.least} types or more"
            )

    def build(self, texts: Iterable[str]) -> Vocabulary:
        from bangbang.data.trained import TrainedVocabulary

        self.check()
        return TrainedVocabulary.train(texts, self)


@dataclass(frozen=True)
class Words(TrainedSettings):
    """One type per word, as in the paper; words that are too rare become `<unk>`."""

    split: Literal["words", "whitespace", "bare-words", "characters"] = "words"
    """`words` parts punctuation from words; `whitespace` is for text that is tokenised already; `bare-words` leaves
    punctuation out, but for marks inside a word (t-shirt, man's): for captions, which are scored without it;
    `characters` makes each character a type, blanks too, and one of what stands after a tab, such as a feature."""


@dataclass(frozen=True)
class BytePairs(TrainedSettings):
    """Byte-level pieces of words: nothing is ever unknown, and texts come back exactly."""

    least: ClassVar[int] = len(SYMBOLS) + 256
    split: Literal["words", "whitespace"] = "words"
    """`words` parts punctuation from words; `whitespace` keeps what stands between blanks together."""


@dataclass(frozen=True)
class TokenizerFile(VocabularySettings):
    """The vocabulary of a `tokenizer.json` that was made elsewhere, in our ids. Nothing is trained."""

    file: str = ""
    """The file, as the `tokenizers` library writes it."""
    ends: tuple[str, ...] = ()
    """The tokens that end a text; the first is the one that is written. Left out, it is the file's one well-known end,
    such as `</s>` or `<|endoftext|>`."""

    @property
    def identity(self) -> dict[str, Any]:
        """By content: the file may be moved."""
        try:
            with open_plain(self.path) as file:
                digest = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16))
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read ({error.strerror})") from None
        return {"kind": self.kind, "ends": list(self.ends), "content": digest.hexdigest()}

    @property
    def path(self) -> Path:
        if not self.file:
            raise InputError("vocabulary.file: name the tokenizer.json")
        return Path(self.file)

    def check(self) -> None:
        self.build(())

    def build(self, texts: Iterable[str]) -> Vocabulary:
        from bangbang.data.given import GivenVocabulary

        return GivenVocabulary.of_file(self.path, self.ends)


KINDS: dict[str, type[VocabularySettings]] = {"word": Words, "bpe": BytePairs, "tokenizer": TokenizerFile}
