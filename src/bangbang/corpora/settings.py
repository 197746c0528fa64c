"""The settings of each corpus, and how it is read. Nothing here imports torch."""

import re
import unicodedata
from abc import abstractmethod
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from bangbang.settings import KindSettings

if TYPE_CHECKING:
    from bangbang.consent import Consent
    from bangbang.corpora.pairs import Reader


@dataclass(frozen=True)
class CorpusSettings(KindSettings):
    """Where the pairs come from, and what is kept of them."""

    group: ClassVar[str] = "corpora"
    table: ClassVar[str] = "data"
    content: ClassVar[frozenset[str]] = frozenset()
    """The settings of its own that change what is in the corpus, beside what the reader's identity tells."""

    corpus: str = ""
    """A corpus by its name, a folder or file of pairs or captions, or the name of a `datasets` data set."""
    all_references: bool = False
    """Training: whether the reward sees all references of a source, or only the one that the example is made of."""
    max_source_length: int = 30
    """Input tokens kept; the rest is cut."""
    max_target_length: int = 15
    """Output tokens kept, `</s>` included."""
    valid_share: float = 0.04
    """Share of the families held out for validation where the corpus comes without splits."""
    test_share: float = 0.04
    """Share of the families held out for testing where the corpus comes without splits."""
    cache: str = "corpora"
    """Folder where prepared corpora are kept, one folder each, found again by what they were made from."""

    def __post_init__(self) -> None:
        self.require(
            max_source_length=(1 <= self.max_source_length <= 1_000_000, "at least 1 and at most a million"),
            max_target_length=(2 <= self.max_target_length <= 1_000_000, "at least 2, a token and </s>"),
            valid_share=(0 <= self.valid_share < 1, "a share from 0 to below 1"),
            test_share=(0 <= self.test_share < 1, "a share from 0 to below 1"),
        )

    @property
    def options(self) -> dict[str, object]:
        """The settings that change what is in the corpus."""
        shared = ("max_source_length", "max_target_length", "valid_share", "test_share")
        return {name: getattr(self, name) for name in (*shared, *sorted(self.content))}

    def as_read(self, source: str) -> str:
        """A source text as the reader would give it."""
        return source

    def languages(self) -> list[str]:
        """The languages to choose among, where the corpus has files of several and none is chosen."""
        return []

    def make_missing(self, consent: "Consent") -> None:
        """Make what is to be read, where that has to be made first and may be; most corpora are there already."""

    def without_lost_places(self) -> "CorpusSettings":
        """The same corpus, made in its cache if it is not any more where it once was made."""
        return self

    @abstractmethod
    def build(self) -> "Reader":
        """The reader of the corpus."""


@dataclass(frozen=True)
class Docstrings(CorpusSettings):
    """Docstrings of installed Python packages: a definition's name and text, and its one-line summary."""

    corpus: str = "docstrings"
    path: str = ""
    """The folder to read instead of this environment's packages."""

    def build(self) -> "Reader":
        from bangbang.corpora import docstrings

        return docstrings.reader(self)


@dataclass(frozen=True)
class Debian(CorpusSettings):
    """Debian's package descriptions, from apt's index: a long description and its synopsis."""

    corpus: str = "debian"
    path: str = ""
    """The index to read instead of those that apt has downloaded."""

    def build(self) -> "Reader":
        from bangbang.corpora import debian

        return debian.reader(self)


@dataclass(frozen=True)
class DebianTranslations(CorpusSettings):
    """Debian's package descriptions and their translations, from apt's indices: synopses and paragraphs."""

    content: ClassVar[frozenset[str]] = frozenset({"language", "max_words"})
    corpus: str = "debian-translations"
    max_source_length: int = 64
    """Input tokens kept; the rest is cut."""
    max_target_length: int = 64
    """Output tokens kept, `</s>` included."""
    path: str = ""
    """The folder of indices to read instead of apt's."""
    language: str = "it"
    """The language that is translated to, as apt names it: it, da, fr, de, pt_BR ..."""
    max_words: int = 25
    """The longest text, on either side: longer ones are left out, since a cut text is no translation."""

    def __post_init__(self) -> None:
        super().__post_init__()
        tag = re.fullmatch(r"[a-z]{2,3}([_@-][A-Za-z]+)*", self.language)
        self.require(
            language=(tag is not None and self.language != "en", "a language as apt names it, such as it or pt_BR"),
            max_words=(self.max_words >= 1, "at least 1"),
        )

    def build(self) -> "Reader":
        from bangbang.corpora import debian_translations

        return debian_translations.reader(self)


@dataclass(frozen=True)
class Shapes(CorpusSettings):
    """Drawn scenes of one or two coloured shapes, and captions made by rule. Synthetic."""

    corpus: str = "shapes"
    path: str = ""
    """The folder for the scenes; empty means a folder in `cache`."""

    def as_read(self, source: str) -> str:
        """A source text as the reader would give it."""
        return source

    def languages(self) -> list[str]:
        """The languages to choose among, where the corpus has files of several and none is chosen."""
        return []

    def make_missing(self, consent: "Consent") -> None:
        from bangbang.corpora import shapes

        shapes.draw_missing(self, consent)

    def without_lost_places(self) -> "Shapes":
        from bangbang.corpora import shapes

        return self if shapes.are_drawn(Path(self.path)) else replace(self, path="")

    def build(self) -> "Reader":
        from bangbang.corpora import shapes

        return shapes.reader(self)


@dataclass(frozen=True)
class Files(CorpusSettings):
    """Your own pairs or captions: a folder, a file, or a data set of the `datasets` library."""

    content: ClassVar[frozenset[str]] = frozenset({"source_field", "target_field"})
    source_field: str = "source"
    """Column of the input text in JSONL, CSV, Parquet and `datasets` corpora."""
    target_field: str = "target"
    """Column of the output text; a column of lists gives several references."""
    features: str = ""
    """Captions: the folder of the images' features (`bangbang features`); empty if they are beside the captions."""
    language: str = ""
    """Tab-separated strings: which language, where a folder has files of several, such as dut_train.tsv."""
    merge_sources: bool = False
    """Tab-separated strings: whether lines of one source are one example with several references."""
    normal_form: Literal["as-is", "NFC", "NFD"] = "as-is"
    """The Unicode normal form that all texts are brought to, those that `generate` reads too."""
    held_out: int = 4_000
    """COCO's own files: how many images, of train and val together, are held out for validation (the paper: 4K)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(held_out=(self.held_out >= 0, "at least 0"))

    def as_read(self, source: str) -> str:
        return source if self.normal_form == "as-is" else unicodedata.normalize(self.normal_form, source.strip())

    def languages(self) -> list[str]:
        from bangbang.corpora import files

        return [] if self.language else files.languages(self)

    def build(self) -> "Reader":
        from bangbang.corpora import files

        return files.reader(self)


KINDS: dict[str, type[CorpusSettings]] = {
    "docstrings": Docstrings,
    "debian": Debian,
    "debian-translations": DebianTranslations,
    "shapes": Shapes,
    "files": Files,
}
