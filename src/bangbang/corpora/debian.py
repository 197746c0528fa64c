"""Debian's package descriptions: long description → synopsis, from apt's Translation-en index."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from bangbang.corpora.pairs import Ledger, Pair, Reader, UnionFind, normalised, opening, stable_hash
from bangbang.corpora.settings import Debian
from bangbang.corpora.text_files import identity, lines
from bangbang.errors import InputError

APT_LISTS = Path("/var/lib/apt/lists")
INDEX = "*_Translation-en*"
HOW_TO_GET = "apt-get -o Acquire::Languages=en update"
TICK = 5_000

DESCRIPTION_WORDS = 8  # a long description of fewer says nothing
SYNOPSIS_WORDS = 2
EMPTY_PACKAGE = re.compile(r"\b(transitional|dummy|metapackage|meta-package|empty)\b", re.IGNORECASE)
# over a thousand Rust crates are described by their name alone
EMPTY_DESCRIPTION = re.compile(r"This metapackage|This package contains the source for the Rust \S+ crate")
ITEM = re.compile(r"^[-*+o•]\s+")
FIRST_PARTS = {"python", "python3", "pypy", "gir1.2", "lib"}
LAST_PARTS = {"bin", "client", "common", "core", "data", "dbg", "dev", "doc", "docs", "examples", "gui", "headers"}
LAST_PARTS |= {"java", "perl", "plugin", "plugins", "python", "ruby", "server", "source", "tests", "tools", "utils"}
ASIDE = re.compile(r"\([^)]*\)")
DASH = re.compile(r"\s[-–—]+\s|\s*:\s")
FAMILY_OPENING = 8  # words
SHARED_BY_FEW = 20  # packages: a paragraph of more is boilerplate ("Node.js is ..."), and would glue strangers together
SAME_OPENING = 16  # words: descriptions that agree so far tell of the same thing


class Package(NamedTuple):
    name: str
    synopsis: str
    paragraphs: tuple[str, ...]
    md5: str = ""
    """Of the English description: what a translation is found by."""

    @property
    def description(self) -> str:
        return " ".join(self.paragraphs)


def reader(data: Debian) -> Reader:
    """The index in `data.path`, or all that apt has downloaded."""
    paths = [Path(data.path)] if data.path else sorted(APT_LISTS.glob(INDEX))
    if not paths:
        raise InputError(f"{APT_LISTS}: no Translation-en index; get it by: {HOW_TO_GET}; or give a file as data.path")
    made_from = {"kind": "debian", "files": [identity(path) for path in paths]}
    return Reader("debian", made_from, {"train": lambda ledger: pairs(paths, ledger)})


def pairs(paths: list[Path], ledger: Ledger) -> Iterator[Pair]:
    """The distinct pairs. Only these few tens of megabytes are held, to join them to families."""
    packages = distinct((one for path in paths for one in parse(path, ledger)), ledger)
    for package, family in zip(packages, families(packages), strict=True):
        yield Pair(package.description, (package.synopsis,), family)


def parse(path: Path, ledger: Ledger, language: str = "en") -> Iterator[Package]:
    """The packages of an index: `Package:`, `Description-en:` and its continuation lines, which begin with a blank."""
    name, md5, synopsis, body = "", "", "", list[str]()
    number_of_line, wrong = 0, f"not a Translation-{language} index"
    for number_of_line, line in enumerate(lines(path), 1):
        if number_of_line % TICK == 0:
            ledger.progress(number_of_line, 0)
        field, colon, value = line.partition(":")
        if line.startswith(" ") and synopsis:
            body.append(line)
        elif line and not colon:
            raise InputError(f"{path}:{number_of_line}: {wrong}: {line[:40]!r} is no 'Field: value'")
        elif field == "Package":
            if name:
                yield Package(name, synopsis, paragraphs(body), md5)
            name, md5, synopsis, body = value.strip(), "", "", []
        elif field == "Description-md5":
            md5 = value.strip()
        elif field in (f"Description-{language}", "Description"):
            synopsis = value.strip()
    if not name:
        raise InputError(f"{path}: {wrong}: no package in its {number_of_line} lines")
    yield Package(name, synopsis, paragraphs(body), md5)


def paragraphs(body: list[str]) -> tuple[str, ...]:
    """The paragraphs of a long description, one line each; a line ` .` parts them, bullets lose their mark."""
    texts: list[list[str]] = [[]]
    for line in body:
        if line.strip() == ".":
            texts.append([])
        else:
            texts[-1].append(ITEM.sub("", line.strip()))
    return tuple(text for text in (" ".join(" ".join(words).split()) for words in texts) if text)


def distinct(packages: Iterable[Package], ledger: Ledger) -> list[Package]:
    """One package of each synopsis and of each opening of the description: that of the shortest synopsis.

    Packages of one source open alike, and the shortest synopsis is the program's own, not "... (development files)".
    """
    synopses: set[int] = set()
    openings: set[int] = set()
    kept: list[tuple[int, Package]] = []
    for place, package in sorted(enumerate(packages), key=lambda item: (len(item[1].synopsis), item[0])):
        if reason := fault(package):
            ledger.drop(reason)
            continue
        synopsis = stable_hash(normalised(package.synopsis))
        start = stable_hash(opening(package.description, SAME_OPENING))
        if synopsis in synopses or start in openings:
            ledger.drop("same synopsis or description as another")
        else:
            kept.append((place, package))
        synopses.add(synopsis)
        openings.add(start)
    return [package for _, package in sorted(kept)]


def fault(package: Package) -> str:
    """Why nothing can be learned from a package, or nothing."""
    if is_empty(package):
        return "package without content"
    if len(normalised(package.description).split()) < DESCRIPTION_WORDS:
        return "description too short"
    if len(package.synopsis.split()) < SYNOPSIS_WORDS:
        return "synopsis too short"
    return ""


def is_empty(package: Package) -> bool:
    """Whether it is there for others' sake, or has no description of its own."""
    return bool(EMPTY_PACKAGE.search(package.synopsis) or EMPTY_DESCRIPTION.match(package.description))


def families(packages: list[Package]) -> list[str]:
    """The family of each package, named after its first member: packages that share a key belong together."""
    groups: dict[tuple[str, int], list[int]] = {}
    for place, package in enumerate(packages):
        for key in set(keys(package)):
            groups.setdefault((key.split()[0], stable_hash(key)), []).append(place)
    sets = UnionFind(len(packages))
    for (kind, _), members in groups.items():
        if kind != "paragraph" or len(members) <= SHARED_BY_FEW:
            sets.join(members)
    return [packages[sets.find(place)].name for place in range(len(packages))]


def keys(package: Package) -> Iterator[str]:
    """What two packages of a family share. Numbers do not count: versions of a program are one family."""
    yield "opening " + opening(without_numbers(package.description[:1_000]), FAMILY_OPENING)
    yield "synopsis " + core(package.synopsis)
    yield "name " + stem(package.name)
    for paragraph in package.paragraphs:
        words = normalised(paragraph)
        if words.count(" ") >= DESCRIPTION_WORDS:
            yield "paragraph " + words


def without_numbers(text: str) -> str:
    return re.sub(r"\d+", " ", text)


def core(synopsis: str) -> str:
    """A synopsis up to what tells one package of a source from the next: "(development files)", "- documentation"."""
    whole = normalised(without_numbers(synopsis))
    return normalised(without_numbers(ASIDE.sub(" ", DASH.split(synopsis)[0]))) or whole


def stem(name: str) -> str:
    """The name that packages of a source share: `libfoo2`, `libfoo-dev`, `python3-foo`, `foo-doc` are of `foo`."""
    parts = [part for part in name.split("-") if not part[:1].isdigit()] or [name]
    while len(parts) > 1 and parts[-1] in LAST_PARTS:
        parts.pop()
    while len(parts) > 1 and parts[0] in FIRST_PARTS:
        parts.pop(0)
    return re.sub(r"[\d.]+\w?$", "", "-".join(parts).removeprefix("lib")) or name
