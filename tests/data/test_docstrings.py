"""Harvesting docstrings: what is kept, what is dropped, and that nothing is run."""

import sys
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from bangbang.cli.main import main
from bangbang.data import Corpus, docstrings
from bangbang.data.pairs import Ledger, Pair
from bangbang.data.prose import clean, prose

Prepared = Callable[..., Corpus]
WORDS = ("apple", "birch", "cedar", "daisy", "elder", "fern", "grape", "hazel")


def harvested(root: Path) -> tuple[list[Pair], Counter[str]]:
    ledger = Ledger()
    return list(docstrings.pairs([root], ledger)), ledger.drops


def function(name: str, summary: str, body: str) -> str:
    return f'def {name}():\n    """{summary}\n\n    {body}\n    """\n\n'


def test_summary_and_body_of_every_kind_of_definition(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(
        '"""A module about many trees.\n\nIt has a body that is long enough to be kept here."""\n'
        'class Tree:\n    """A tree with leaves.\n\n    Trees grow slowly and need a lot of water every day."""\n'
        '    async def grow(self):\n        """Let the tree grow.\n\n        Growing takes time, so this waits until'
        ' the tree is done."""\n'
        'def plain():\n    """Only a summary without a body."""\n'
        'raise SystemExit("this file must never be run")\n'
    )
    pairs, drops = harvested(tmp_path)
    assert [pair.targets[0] for pair in pairs] == [
        "A module about many trees.",
        "A tree with leaves.",
        "Let the tree grow.",
    ]
    assert pairs[2].source == "Growing takes time, so this waits until the tree is done."
    assert not drops
    assert "one" not in sys.modules


def test_noise_is_left_out_of_the_body() -> None:
    lines = """Waters ``all`` trees of a :class:`~garden.Garden`, see `the book <https://x.org>`_::

    garden.water(tree)

- The *first* thing.
>>> water()
3

Args:
    tree: not part of it
""".splitlines()
    assert prose(lines) == "Waters all trees of a garden.Garden, see the book: The first thing."
    assert prose(["Text before.", "", "Parameters", "----------", "tree : Tree"]) == "Text before."
    assert prose(["Text.", "", ":param tree: a tree", "More."]) == "Text."
    assert clean("a ``b`` **c** [d](http://e) :func:`f`") == "a b c d f"


@pytest.mark.parametrize(
    ("summary", "body", "reason"),
    [
        ("Two words.", "A body that is long enough to be kept in the corpus.", "summary too short or too long"),
        ("A summary of words.", "Too short a body.", "body too short or too long"),
        ("foo(x, y=[1,2]) -> (z[0], 3)", "A body that is long enough to be kept in the corpus.", "not a sentence"),
        ("A summary of words.", "x = 1 y = 2 z = 3 (a + b) * c / 4 == 17 != 8", "not a sentence"),
    ],
)
def test_poor_pairs_are_dropped_with_a_reason(summary: str, body: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(function("f", summary, body))
    assert harvested(tmp_path) == ([], Counter({reason: 1}))


def test_repeats_are_dropped_and_likeness_makes_a_family(tmp_path: Path) -> None:
    body = "This function waters all the trees of the garden once a day"
    (tmp_path / "a.py").write_text(function("f", "Water all the trees.", f"{body}, in spring."))
    (tmp_path / "b.py").write_text(
        function("f", "Water all the trees!", "Quite another text about the watering of trees in gardens.")
        + function("g", "Water trees in summer.", f"{body}, in summer.")
        + function("h", "Another thing is done.", f"{body.upper()}, in spring!")
        + function("k", "Yet another thing done.", "A text of its own that has nothing to do with it.")
    )
    (tmp_path / "c.py").write_text(
        function("f", "Count all the birds.", "Birds are counted as they fly over the river bank.")
    )
    pairs, drops = harvested(tmp_path)
    assert drops == {"same summary or body as another": 2}
    families = {pair.targets[0]: pair.family for pair in pairs}
    assert families == {
        "Water all the trees.": "this function waters all the trees of the",
        "Water trees in summer.": "this function waters all the trees of the",
        "Yet another thing done.": "a text of its own that has nothing",
        "Count all the birds.": "birds are counted as they fly over the",
    }


def test_files_that_cannot_be_read_are_counted(tmp_path: Path) -> None:
    good = function("f", "Water all the trees.", "This function waters all the trees of the garden.")
    (tmp_path / "a.py").write_text(good + 'x = "\\d"\n')
    (tmp_path / "bad.py").write_text(good + "def (")
    (tmp_path / "bytes.py").write_bytes(good.encode() + b'x = "\xff"\n')
    (tmp_path / "deep.py").write_text(good + "x = " + "(" * 5_000 + ")" * 5_000)
    (tmp_path / "nul.py").write_bytes(good.encode() + b"\0")
    (tmp_path / "minus.py").write_text(good + "x = " + "-" * 200_000 + "1")
    for skipped in ("tests", "_vendor", "bangbang"):
        (tmp_path / skipped).mkdir()
        (tmp_path / skipped / "a.py").write_text(
            function("f", f"In a folder {skipped}.", "All of the words of this are skipped.")
        )
    (tmp_path / "folder.py").mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pairs, drops = harvested(tmp_path)
    assert [pair.targets[0] for pair in pairs] == ["Water all the trees."]
    assert drops == {"file not parsable": 5}


def test_a_folder_of_sources_as_corpus(tmp_path: Path, prepared: Prepared, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "code"
    root.mkdir()
    for number in range(64):
        pair = f"{WORDS[number % 8]} {WORDS[number // 8]}"
        text = f"The {pair} is watered {number} times until it has grown up."
        (root / f"m{number}.py").write_text(function("f", f"Water the {pair}.", text))
    corpus = prepared("docstrings", path=str(root), valid_share=0.2, test_share=0.2)
    assert corpus.folder.name.startswith("docstrings-")
    assert corpus.manifest["families"]["count"] == 64
    (root / "m0.py").write_text(
        function("f", "Something else entirely.", "Now the text is something else, and longer.")
    )
    assert prepared("docstrings", path=str(root), valid_share=0.2, test_share=0.2).folder != corpus.folder
    assert main(["data", "docstrings", "--path", str(root / "none")]) == 2
    assert "none: no such folder" in capsys.readouterr().err


def test_installed_packages_are_found_by_name_and_version() -> None:
    roots = docstrings.site_packages()
    assert roots
    packages = docstrings.packages_identity(roots)["packages"]
    assert any(package.startswith("numpy ") for package in packages)
    assert packages == sorted(set(packages))
