"""Tab-separated strings: what is read, what is refused with file and line, normal forms, and symbols there and back."""

import unicodedata
from pathlib import Path

import pytest

from bangbang.corpora.pairs import Ledger, Pair
from bangbang.corpora.settings import Files
from bangbang.data import prepare
from bangbang.data.settings import Words
from bangbang.errors import InputError
from bangbang.symbols import UNK
from tests.transduction import write_language

SHARED = Path(__file__).parents[3] / "shared" / "data" / "g2p"
GOOD = "aad\taː t\naalst\taː l s t\n"


def folder_of(tmp_path: Path, **files: str) -> Path:
    for name, content in files.items():
        (tmp_path / f"{name}.tsv").write_text(content, "utf-8")
    return tmp_path


def read(folder: Path, split: str = "train", **settings: object) -> list[Pair]:
    data = Files(corpus=str(folder), **settings)
    return list(data.build().splits[split](Ledger()))


def test_two_columns_are_a_source_and_its_target(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, train=GOOD + "\n", dev="b\tb\n", test="c\tk")
    assert read(folder) == [Pair("aad", ("aː t",), "aad"), Pair("aalst", ("aː l s t",), "aalst")]
    assert [read(folder, split)[0].source for split in ("valid", "test")] == ["b", "c"]
    assert read(folder / "train.tsv") == read(folder)


def test_three_columns_are_unimorphs(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, train="look up\tlooked up\tV;PST\n")
    assert read(folder) == [Pair("look up\tV\tPST", ("looked up",), "look up\tV\tPST")]


def test_a_language_is_chosen(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, dut_train=GOOD, dut_dev="d\td\n", fre_train="f\tf\n")
    assert Files(corpus=str(folder)).languages() == ["dut", "fre"]
    assert read(folder, language="fre")[0].source == "f"
    assert read(folder, "valid", language="dut")[0].source == "d"
    assert Files(corpus=str(folder), language="fre").build().name == "fre"
    with pytest.raises(InputError, match=r"several languages; set data\.language to one of dut, fre"):
        read(folder)
    with pytest.raises(InputError, match=r"no hun_train\.tsv; there are dut, fre"):
        read(folder, language="hun")
    (folder / "fre_train.tsv").unlink()
    assert read(folder)[0].source == "aad" and Files(corpus=str(folder)).languages() == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("aad aː t\n", r"train\.tsv:1: 1 columns .*; expected 2 for a source and its target, or 3 for a lemma"),
        (GOOD + "a\tb\tc\td\n", r"train\.tsv:3: 4 columns"),
        (GOOD + "a\tb\tV\n", r"train\.tsv:3: 3 columns, but the lines before have 2"),
        (GOOD + "a\t\n", r"train\.tsv:3: an empty column; write a source and its target"),
        (GOOD + "\ta\n", r"train\.tsv:3: an empty column"),
    ],
)
def test_bad_lines_are_named(content: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        read(folder_of(tmp_path, train=content))


def test_lines_of_one_source_may_be_several_references(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, train="a\tx\nb\ty\na\tz\na\tx\n")
    assert [pair.targets for pair in read(folder)] == [("x",), ("y",), ("z",), ("x",)]
    assert read(folder, merge_sources=True) == [Pair("a", ("x", "z"), "a"), Pair("b", ("y",), "b")]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_texts_are_brought_to_one_normal_form(form: str, tmp_path: Path) -> None:
    both = [unicodedata.normalize(each, "é\te ɔ̃ õ\n") for each in ("NFC", "NFD")]
    folder = folder_of(tmp_path, train="".join(both))
    assert len({pair.source for pair in read(folder)}) == 2
    (pair,) = read(folder, normal_form=form, merge_sources=True)
    assert pair.source == unicodedata.normalize(form, "é") and len(pair.targets) == 1
    found = {each: Files(corpus=str(folder), normal_form=each).build().identity for each in ("as-is", form)}
    assert found["as-is"] != found[form]


def test_a_symbol_of_dev_alone_is_counted_and_does_no_harm(tmp_path: Path) -> None:
    folder = write_language(tmp_path / "words", "xaa", {"train": 30, "dev": 4, "test": 4})
    with (folder / "xaa_dev.tsv").open("a", encoding="utf-8") as file:
        file.write("ßa\tʬ ɑ\n")
    data = Files(corpus=str(folder), cache=str(tmp_path / "cache"))
    settings = Words(split="whitespace", lowercase=False), Words(split="characters", lowercase=False)
    corpus = prepare(data, *settings, progress=False)
    shares = corpus.manifest["splits"]["valid"]
    assert shares["source"]["unknown_share"] > 0 and shares["target"]["unknown_share"] > 0
    assert corpus.split("valid").source_ids(slice(4, 5))[0][0] == UNK
    assert corpus.manifest["splits"]["test"]["source"]["unknown_share"] == 0


def phones(pairs: list[Pair]) -> list[str]:
    return [target for pair in pairs for target in pair.targets]


@pytest.mark.parametrize("language", sorted(path.name[:-10] for path in SHARED.glob("*_train.tsv")) or ["none"])
def test_every_symbol_of_the_shared_task_comes_back(language: str) -> None:
    if not SHARED.is_dir():
        pytest.skip("no shared/data/g2p beside the project")
    data = Files(corpus=str(SHARED), language=language, normal_form="NFC")
    pairs = list(data.build().splits["train"](Ledger()))
    for texts, split in (([pair.source for pair in pairs], "characters"), (phones(pairs), "whitespace")):
        vocabulary = Words(split=split, lowercase=False).build(texts)
        symbols = sorted({symbol for text in texts for symbol in (text.split() if split == "whitespace" else text)})
        for known in (symbols, texts[::10]):
            assert [vocabulary.decode(ids) for ids in vocabulary.encode_batch(known)] == known
        assert len(vocabulary) == 4 + len(symbols)
