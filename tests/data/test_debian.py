"""Debian's descriptions: parsing, and a split over which no family reaches."""

import bz2
import gzip
import lzma
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import lz4.frame
import pytest

from bangbang.cli.main import main
from bangbang.corpora import debian
from bangbang.corpora.pairs import Ledger, Pair, normalised, opening
from bangbang.corpora.settings import Debian
from bangbang.data import Corpus
from bangbang.data.reading import Sides

Prepared = Callable[..., Corpus]
REAL = sorted(debian.APT_LISTS.glob(debian.INDEX))

ENTRY = """Package: {name}
Description-md5: 0123
Description-en: {synopsis}
 {body}
"""
BOILERPLATE = "Brambles is a made-up platform for tests, and this sentence is in all of its many packages."


def entry(name: str, synopsis: str, *paragraphs: str) -> str:
    return ENTRY.format(name=name, synopsis=synopsis, body="\n .\n ".join(paragraphs))


def thing(number: int) -> str:
    """Twelve words of which no two numbers share the first eight."""
    digits = [("ash", "elm", "oak", "fir", "yew", "bay", "fig")[number // 7**place % 7] for place in range(3)]
    return f"{' '.join(digits)} grower for people who keep trees of kind {' '.join(digits)} at home"


def index() -> str:
    """Sixty sources of six packages that share text in different ways, and boilerplate shared by all."""
    entries = []
    for n in range(60):
        kind = " ".join(thing(n).split()[:3])
        name = "tree" + "abcdefgh"[n // 8] + "abcdefgh"[n % 8]
        shared = f"The {kind} suite was first written to water trees while nobody is looking, by {kind} people."
        entries += [
            entry(name, f"{kind} grower", f"A {thing(n)}.", BOILERPLATE),
            entry(f"lib{name}{n}-dev", f"{kind} headers", f"Headers of the {thing(n)}.", BOILERPLATE),
            entry(f"alpha-{name}", f"reader of {kind} logs", f"Reads what {kind} left behind, on {n} disks.", shared),
            entry(f"beta-{name}", f"{kind} writer of books", f"Writes books about {kind} in {n} tongues.", shared),
            entry(f"gamma-{name}", f"other reader of {kind}", f"Reads what {kind} left behind, on 9{n} disks."),
            entry(f"delta-{name}", f"{kind} grower (manual)", f"Pages about {kind} to read in bed on {n} evenings."),
        ]
    return "\n".join(entries)


def test_entries_become_plain_text(tmp_path: Path) -> None:
    path = tmp_path / "Translation-en"
    path.write_text(
        "Package: foo\nDescription-md5: 1\nDescription-en: reader of foos\n Foo reads foos\n and more.\n .\n It has:\n"
        "  * one: a thing\n  - two\n\nPackage: bar\nDescription-en: bar\n"
    )
    foo, bar = debian.parse(path, Ledger())
    assert foo == debian.Package("foo", "reader of foos", ("Foo reads foos and more.", "It has: one: a thing two"), "1")
    assert bar == debian.Package("bar", "bar", ())


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [("", bytes), (".gz", gzip.compress), (".xz", lzma.compress), (".bz2", bz2.compress), (".lz4", lz4.frame.compress)],
)
def test_packed_files_are_read(suffix: str, pack: Callable[[bytes], bytes], tmp_path: Path, prepared: Prepared) -> None:
    path = tmp_path / f"Translation-en{suffix}"
    path.write_bytes(pack(index().encode()))
    corpus = prepared("debian", path=str(path), valid_share=0.2, test_share=0.2)
    assert sum(split["rows"] for split in corpus.manifest["splits"].values()) > 200


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".bz2", ".lz4"])
def test_damaged_files_are_refused(suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / f"Translation-en{suffix}"
    path.write_bytes(b"no index at all\n" * 9)
    assert main(["data", "debian", "--path", str(path), "--out", str(tmp_path / "cache")]) == 2
    error = capsys.readouterr().err
    assert f"{path}:1: " in error
    assert error.count("\n") == 1


def test_without_an_index_the_way_to_get_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(debian, "APT_LISTS", tmp_path)
    assert main(["data", "debian"]) == 2
    assert "apt-get -o Acquire::Languages=en update" in capsys.readouterr().err
    assert main(["data", "debian", "--path", str(tmp_path / "none")]) == 2
    assert "none: no such file" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["libfoo2", "libfoo-dev", "python3-foo", "foo-doc", "foo", "libfoo1.2", "foo-7-dbg"])
def test_names_of_one_source_have_one_stem(name: str) -> None:
    assert debian.stem(name) == "foo"


@pytest.mark.parametrize("synopsis", ["grower of trees (headers)", "Grower of trees - manual", "grower of trees 2.5"])
def test_synopses_of_one_source_have_one_core(synopsis: str) -> None:
    assert debian.core(synopsis) == "grower of trees"


def test_repeats_and_empty_packages_go(tmp_path: Path) -> None:
    body = "A grower of trees for people who keep a large number of trees at home and in the garden."
    path = tmp_path / "index"
    path.write_text(
        "\n".join(
            [
                entry("trees-data", "grower of trees (data files)", body, "These are the data files."),
                entry("trees", "grower of trees", body),
                entry("trees-old", "transitional package for trees", f"Old {body}"),
                entry("shrub", "grower of shrubs", "Grows shrubs."),
                entry("copse", "Grower of trees!", f"Another {body}"),
            ]
        )
    )
    ledger = Ledger()
    assert [pair.targets for pair in debian.pairs([path], ledger)] == [("grower of trees",)]
    assert ledger.drops == {
        "same synopsis or description as another": 2,
        "package without content": 1,
        "description too short": 1,
    }


def test_a_common_name_makes_a_family() -> None:
    text = "about {} that nobody else has ever written in such words"
    packages = [
        debian.Package(name, f"thing of {kind}", (f"{kind} {text.format(kind)}",))
        for name, kind in (("libfoo2", "ash"), ("python3-foo", "elm"), ("bar", "oak"))
    ]
    assert debian.families(packages) == ["libfoo2", "libfoo2", "bar"]


def leaks(pairs: list[Pair], paragraphs: Callable[[Pair], list[str]]) -> dict[str, int]:
    """How many keys of each kind are on both sides of a split into train and held out."""
    sides = Sides(Debian(), [])
    keys: dict[str, dict[bool, set[str]]] = {}
    for pair in pairs:
        held_out = sides.of(pair.family) != "train"
        for kind, values in (
            ("source", [normalised(pair.source)]),
            ("opening", [opening(pair.source, debian.FAMILY_OPENING)]),
            ("synopsis", [normalised(pair.targets[0])]),
            ("core", [debian.core(pair.targets[0])]),
            ("paragraph", paragraphs(pair)),
        ):
            keys.setdefault(kind, {True: set(), False: set()})[held_out].update(values)
    assert all(side[True] for side in keys.values())
    return {kind: len(side[True] & side[False]) for kind, side in keys.items()}


def test_no_family_is_on_two_sides(tmp_path: Path) -> None:
    path = tmp_path / "index"
    path.write_text(index())
    pairs = list(debian.pairs([path], Ledger()))
    assert len(pairs) > 200
    rare = lambda pair: [text for text in pair.source.split(". ") if text.startswith("The ")]  # noqa: E731
    assert leaks(pairs, rare) == dict.fromkeys(("source", "opening", "synopsis", "core", "paragraph"), 0)
    # the boilerplate, in 120 packages, glues nothing: each source stays on its own
    assert max(Counter(pair.family for pair in pairs).values()) <= 5
    # and without families the same pairs would leak
    alone = [pair._replace(family=pair.source) for pair in pairs]
    assert all(leaks(alone, rare)[kind] > 0 for kind in ("core", "paragraph", "opening"))


@pytest.mark.slow
@pytest.mark.skipif(not REAL, reason="this machine has no Translation-en index")
def test_no_family_of_the_real_index_is_on_two_sides() -> None:
    packages = debian.distinct((one for path in REAL for one in debian.parse(path, Ledger())), Ledger())
    families = debian.families(packages)
    assert len(packages) > 30_000
    assert max(Counter(families).values()) < 0.01 * len(packages)
    shared = Counter(text for package in packages for text in set(map(normalised, package.paragraphs)))
    by_source = {package.description: package for package in packages}

    def rare(pair: Pair) -> list[str]:
        texts = map(normalised, by_source[pair.source].paragraphs)
        return [text for text in texts if len(text.split()) > 12 and shared[text] <= debian.SHARED_BY_FEW]

    pairs = [Pair(p.description, (p.synopsis,), family) for p, family in zip(packages, families, strict=True)]
    assert leaks(pairs, rare) == dict.fromkeys(("source", "opening", "synopsis", "core", "paragraph"), 0)
