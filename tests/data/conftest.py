"""Small corpora written for the tests."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bangbang.conversion import convert
from bangbang.corpora.settings import CorpusSettings
from bangbang.data import Corpus, prepare
from bangbang.data.settings import VocabularySettings, Words

NOUNS = ("cat", "dog", "fish", "bird", "horse", "mouse", "whale")
PLACES = ("house", "garden", "river", "forest", "valley")


def sentences(count: int) -> list[tuple[str, str]]:
    """Pairs of different lengths, all different."""
    rows = []
    for number in range(count):
        noun, place = NOUNS[number % 7], PLACES[number // 7 % 5]
        extra = " very" * (number % 4)
        rows.append((f"the{extra} {noun} number{number} lives in the {place}", f"{noun}{extra} at {place} {number}"))
    return rows


@pytest.fixture
def parallel(tmp_path: Path) -> Path:
    """A folder of parallel text with all three splits; the test split has three references."""
    folder = tmp_path / "lines"
    folder.mkdir()
    rows = sentences(120)
    for split, part in (("train", rows[:100]), ("valid", rows[100:110]), ("test", rows[110:])):
        (folder / f"{split}.src").write_text("".join(source + "\n" for source, _ in part))
        endings = ("tgt0", "tgt1", "tgt2") if split == "test" else ("tgt",)
        for number, ending in enumerate(endings):
            lines = [target + " again" * number for _, target in part]
            (folder / f"{split}.{ending}").write_text("".join(line + "\n" for line in lines))
    return folder


@pytest.fixture
def prepared(tmp_path: Path) -> Callable[..., Corpus]:
    """Prepares a corpus in the test's own folder; keywords go to the data options."""

    def make(corpus: Path | str, vocabulary: VocabularySettings | None = None, **options: object) -> Corpus:
        table = {"corpus": str(corpus), "cache": str(tmp_path / "cache"), **options}
        data = convert(table, CorpusSettings, "data")
        return prepare(data, vocabulary or Words(), progress=False)

    return make
