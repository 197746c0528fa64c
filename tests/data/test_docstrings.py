"""Harvesting docstrings: what is kept, what is dropped, and that nothing is run."""

import ast
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from bangbang.cli.main import main
from bangbang.corpora import docstrings
from bangbang.corpora.docstrings import Documented, clean, documented, identifier_words, prose
from bangbang.corpora.pairs import Ledger, Pair, normalised, opening
from bangbang.corpora.settings import Docstrings
from bangbang.data import Corpus
from bangbang.data.reading import Sides

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
    assert [pair.source for pair in pairs] == [
        "one: It has a body that is long enough to be kept here.",
        "Tree: Trees grow slowly and need a lot of water every day.",
        "Tree grow: Growing takes time, so this waits until the tree is done.",
    ]
    assert not drops
    assert "one" not in sys.modules


@pytest.mark.parametrize(
    ("identifier", "expected"),
    [
        ("bind_address", "bind address"),
        ("HTTPServer", "HTTP Server"),
        ("MaxPool2d", "Max Pool 2 d"),
        ("_fromJSON", "from JSON"),
        ("__init__", "init"),
        ("größe_ÄndernUnd", "größe Ändern Und"),
        ("__", ""),
    ],
)
def test_words_of_an_identifier(identifier: str, expected: str) -> None:
    assert identifier_words(identifier) == expected


def test_definitions_come_with_the_name_around_them(tmp_path: Path) -> None:
    folder = tmp_path / "tree_house"
    folder.mkdir()
    path = folder / "__init__.py"
    path.write_text(
        '"""Module.\n\nText."""\nclass Oak:\n  """Oak."""\n  if True:\n    class Leaf:\n      def fall(self):\n'
        '        """Fall."""\n  def grow(self):\n    """Grow."""\n    def _():\n      """Nothing."""\n'
        'def plant():\n  """Plant."""\ndef silent():\n  pass\n'
    )
    found = list(documented(path, Ledger()))
    assert found == [
        Documented("tree_house", "", "Module.\n\nText."),
        Documented("Oak", "", "Oak."),
        Documented("fall", "Leaf", "Fall."),
        Documented("grow", "Oak", "Grow."),
        Documented("_", "grow", "Nothing."),
        Documented("plant", "", "Plant."),
    ]
    assert [one.title for one in found] == ["tree house", "Oak", "Leaf fall", "Oak grow", "grow", "plant"]


def test_a_source_without_a_name_is_the_body(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(function("_", "Water all the trees.", "This waters all the trees of the garden."))
    assert [pair.source for pair in harvested(tmp_path)[0]] == ["This waters all the trees of the garden."]


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
        function("a", "Water all the trees!", "Quite another text about the watering of trees in gardens.")
        + function("g", "Water trees in summer.", f"{body}, in summer.")
        + function("h", "Another thing is done.", f"{body.upper()}, in spring!")
        + function("k", "Yet another thing done.", "A text of its own that has nothing to do with it.")
    )
    (tmp_path / "c.py").write_text(
        function("m", "Count all the birds.", "Birds are counted as they fly over the river bank.")
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


def definitions(names: list[str]) -> list[docstrings.Found]:
    """Definitions that have nothing in common but their names."""
    return [
        docstrings.Found(name, name, f"body {number} of its own that is long enough", f"summary {number}")
        for number, name in enumerate(names)
    ]


def family_sizes(names: list[str]) -> list[int]:
    return sorted(Counter(docstrings.families(definitions(names))).values())


def test_a_name_makes_a_family_unless_it_is_pythons_own_or_everybodys() -> None:
    assert family_sizes(["water_trees", "WaterTrees", "_water_trees", "water", "trees"]) == [1, 1, 3]
    assert family_sizes(["__init__", "__init__", "_", "_"]) == [1, 1, 1, 1]
    few = docstrings.SHARED_BY_FEW
    assert family_sizes(["forward"] * few) == [few]
    assert family_sizes(["forward"] * (few + 1)) == [1] * (few + 1)


def test_families_join_over_common_members() -> None:
    one, two, three, four = definitions(["water", "water", "plant", "grow"])
    three = three._replace(body=two.body + " and more")
    assert docstrings.families([one, two, three, four]) == ["body 0 of its own that is long"] * 3 + [
        "body 3 of its own that is long"
    ]


def leaks(found: list[docstrings.Found], families: list[str]) -> dict[str, int]:
    """How many texts of each kind are on both sides of a split into train and held out."""
    sides = Sides(Docstrings(), [])
    shared = Counter(normalised(identifier_words(pair.name)) for pair in found)
    texts: dict[str, dict[bool, set[str]]] = {}
    for pair, family in zip(found, families, strict=True):
        held_out = sides.of(family) != "train"
        name = normalised(identifier_words(pair.name))
        rare = bool(name) and not pair.name.startswith("__") and shared[name] <= docstrings.SHARED_BY_FEW
        for kind, text in (
            ("summary", normalised(pair.summary)),
            ("opening", opening(pair.body, docstrings.OPENING_WORDS)),
            ("name", name if rare else ""),
        ):
            texts.setdefault(kind, {True: set(), False: set()})[held_out].add(text)
    assert all(len(side[True]) > 5 for side in texts.values())
    return {kind: len(side[True] & side[False] - {""}) for kind, side in texts.items()}


def test_no_family_is_on_two_sides() -> None:
    found = []
    for number in range(900):
        names = (f"water_{number // 3 % 150}_times", f"f{number}x", f"g{number}x")
        bodies = (f"own {number}", f"opening {number // 6}", f"opening {number // 6}")
        body = f"This is the {bodies[number % 3]} that so many people read, {number} of them at home"
        found.append(docstrings.Found(names[number % 3], "", body, f"Water tree {number}."))
    assert leaks(found, docstrings.families(found)) == {"summary": 0, "opening": 0, "name": 0}
    alone = [pair.summary for pair in found]
    assert leaks(found, alone)["opening"] > 0
    assert leaks(found, alone)["name"] > 0


@pytest.mark.slow
def test_no_family_of_the_standard_library_is_on_two_sides() -> None:
    found = list(docstrings.distinct(docstrings.harvest(docstrings.standard_library(), Ledger()), Ledger()))
    families = docstrings.families(found)
    assert len(found) > 1_000
    assert max(Counter(families).values()) < 0.05 * len(found)
    assert leaks(found, families) == {"summary": 0, "opening": 0, "name": 0}


def test_files_that_cannot_be_read_are_counted(tmp_path: Path) -> None:
    good = function("f", "Water all the trees.", "This function waters all the trees of the garden.")
    (tmp_path / "a.py").write_text(good + 'x = "\\d"\n')
    (tmp_path / "bad.py").write_text(good + "def (")
    (tmp_path / "bytes.py").write_bytes(good.encode() + b'x = "\xff"\n')
    (tmp_path / "deep.py").write_text(good + "x = " + "(" * 5_000 + ")" * 5_000)
    (tmp_path / "nul.py").write_bytes(good.encode() + b"\0")
    (tmp_path / "minus.py").write_text(good + "x = " + "-" * 200_000 + "1")
    for skipped in ("tests", "_vendor", "site-packages", "bangbang"):
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
    identity = docstrings.packages_identity(roots)
    packages = identity["packages"]
    assert any(package.startswith("numpy ") for package in packages)
    assert packages == sorted(set(packages))
    assert identity["python"] == ".".join(map(str, sys.version_info[:3]))


def test_the_standard_library_is_read_without_its_tests_and_packages() -> None:
    (root,) = docstrings.standard_library()
    paths = {path.relative_to(root).as_posix() for path in docstrings.sources(root)}
    assert {"textwrap.py", "email/message.py"} < paths
    left_out = ("test/", "idlelib/idle_test/", "site-packages/", "dist-packages/")
    assert not any(path.startswith(left_out) for path in paths)


def test_definitions_are_found_in_every_statement() -> None:
    code = "\n".join(
        [
            "if x:\n    def a(): ...\nelse:\n    def b(): ...",
            "try:\n    def c(): ...\nexcept E:\n    def d(): ...\nfinally:\n    class E: ...",
            "match x:\n    case 1:\n        def f(): ...",
            "with x:\n    async def g():\n        for _ in x:\n            def h(): ...",
            "class I:\n    while x:\n        def j(self): ...",
        ]
    )
    tree = ast.parse(code)
    found = docstrings.definitions(tree)
    assert [(node.name, inside) for node, inside in found] == [
        *((name, "") for name in "abcdEfg"),
        ("h", "g"),
        ("I", ""),
        ("j", "I"),
    ]
    assert {node for node, _ in found} == {node for node in ast.walk(tree) if isinstance(node, docstrings.Named)}
