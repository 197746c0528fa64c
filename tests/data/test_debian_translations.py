"""Debian's translations: found by the hash of the description, each source once, no family on two sides."""

import bz2
from collections.abc import Callable
from pathlib import Path

import pytest

from bangbang.cli.main import main
from bangbang.corpora import debian, debian_translations
from bangbang.corpora.pairs import Ledger, Pair, normalised
from bangbang.corpora.settings import DebianTranslations
from bangbang.data import Corpus
from bangbang.data.reading import Sides
from bangbang.errors import InputError
from tests.translating import entry, write_lists

ENGLISH = [
    entry("oak", "1", "en", ["grower of oaks", "Grows oaks.", "It is slow."]),
    entry("oak-doc", "2", "en", ["grower of oaks (manual)", "Grows oaks.", "Pages to read in bed."]),
    entry("elm", "3", "en", ["grower of elms", "This one nobody has translated yet."]),
    entry("yew", "4", "en", ["grower of yews", "Grows yews.", "It is slower still."]),
    entry("fir", "5", "en", ["transitional package for firs", "It goes away."]),
    entry("ash", "6", "en", ["Ash Tree Suite", "Words."]),
]
GERMAN = [
    entry("oak", "1", "de", ["Eichenzüchter", "Züchtet Eichen.", "Er ist langsam."]),
    entry("oak-doc", "2", "de", ["Eichenzüchter (Handbuch)", "Zieht Eichen.", "Seiten fürs Bett."]),
    entry("yew", "4", "de", ["Eibenzüchter", "Züchtet Eiben. Er ist noch langsamer."]),
    entry("fir", "5", "de", ["Übergangspaket für Tannen", "Es geht weg."]),
    entry("ash", "6", "de", ["Ash Tree Suite", "Wörter."]),
    entry("oak", "old", "de", ["ein alter Satz", "Den das Englische nicht mehr hat."]),
]


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    folder = tmp_path / "lists"
    folder.mkdir()
    (folder / "a_Translation-en").write_text("\n".join(ENGLISH), "utf-8")
    (folder / "a_Translation-de.bz2").write_bytes(bz2.compress("\n".join(GERMAN).encode()))
    (folder / "a_Translation-de_AT").write_text("of another language")
    return folder


def read(lists: Path, ledger: Ledger, **options: object) -> list[Pair]:
    reader = debian_translations.reader(DebianTranslations(path=str(lists), language="de", **options))  # type: ignore[arg-type]
    return list(reader.splits["train"](ledger))


def test_synopses_and_paragraphs_are_paired_and_each_source_comes_once(lists: Path) -> None:
    ledger = Ledger()
    assert read(lists, ledger) == [
        Pair("grower of oaks", ("Eichenzüchter",), "oak"),
        Pair("Grows oaks.", ("Züchtet Eichen.",), "oak"),
        Pair("It is slow.", ("Er ist langsam.",), "oak"),
        Pair("grower of oaks (manual)", ("Eichenzüchter (Handbuch)",), "oak"),
        Pair("Pages to read in bed.", ("Seiten fürs Bett.",), "oak"),
        Pair("grower of yews", ("Eibenzüchter",), "yew"),
    ]
    assert ledger.drops == {
        "same source as another": 1,
        "other paragraphs than the translation": 1,
        "package without content": 1,
        "not translated": 1,
        "source too short": 1,
    }


def test_long_texts_are_left_out_whole(lists: Path) -> None:
    ledger = Ledger()
    kept = read(lists, ledger, max_words=3)
    assert max(len(text.split()) for pair in kept for text in (pair.source, *pair.targets)) == 3
    assert ledger.drops["longer than data.max_words"] == 2


@pytest.mark.parametrize(("missing", "language"), [("en", "de"), ("de", "de"), ("da", "da")])
def test_without_an_index_the_way_to_get_it_is_said(
    missing: str, language: str, lists: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in lists.glob(f"*Translation-{missing}*"):
        path.unlink()
    monkeypatch.setattr(debian, "APT_LISTS", lists)
    assert main(["data", "debian-translations", "--set", f"data.language={language}"]) == 2
    command = f"no Translation-{missing} index; get it by: apt-get -o Acquire::Languages=en,{language} update"
    assert command in capsys.readouterr().err
    assert main(["data", "debian-translations", "--path", str(lists), "--set", f"data.language={language}"]) == 2
    assert f"-o Dir::State::lists={lists} update" in capsys.readouterr().err
    assert main(["data", "debian-translations", "--path", str(lists / "none")]) == 2
    assert "none: no such folder" in capsys.readouterr().err


@pytest.mark.parametrize("language", ["en", "", "*", "../x", "IT"])
def test_a_language_is_a_name_of_apts(language: str) -> None:
    with pytest.raises(InputError, match=r"data\.language must be a language as apt names it"):
        DebianTranslations(language=language)


def test_damaged_indices_are_refused(lists: Path) -> None:
    (lists / "a_Translation-de.bz2").unlink()
    (lists / "a_Translation-de").write_text("no index at all\n")
    with pytest.raises(InputError, match=r"a_Translation-de:1: not a Translation-de index: 'no index at all'"):
        read(lists, Ledger())


def test_no_family_is_on_two_sides(tmp_path: Path, prepared: Callable[..., Corpus]) -> None:
    lists = write_lists(tmp_path / "lists", 120)
    data = DebianTranslations(path=str(lists), language="xx", valid_share=0.2, test_share=0.2)
    pairs = list(debian_translations.reader(data).splits["train"](Ledger()))
    sides = Sides(data, [])
    found: dict[str, set[str]] = {}
    for pair in pairs:
        found.setdefault(pair.family, set()).add(sides.of(pair.family))
    assert len(pairs) == 240 and len(found) == 120 and all(len(each) == 1 for each in found.values())
    assert {side for each in found.values() for side in each} == {"train", "valid", "test"}
    assert len({normalised(pair.source) for pair in pairs}) == len(pairs)
    corpus = prepared("debian-translations", path=str(lists), language="xx", valid_share=0.2, test_share=0.2)
    assert sum(split["rows"] for split in corpus.manifest["splits"].values()) == 240
    assert corpus.folder.name.startswith("debian-xx-")
