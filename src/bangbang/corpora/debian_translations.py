"""Debian's package descriptions and their translations: apt's Translation-XX indices against Translation-en."""

import shlex
from collections.abc import Iterator
from pathlib import Path

from bangbang.corpora import debian
from bangbang.corpora.debian import Package, families, is_empty, parse
from bangbang.corpora.pairs import Ledger, Pair, Reader, normalised, stable_hash
from bangbang.corpora.settings import DebianTranslations
from bangbang.corpora.text_files import identity
from bangbang.errors import InputError

WORDS = 2  # a source of fewer is a name, or a heading


def reader(data: DebianTranslations) -> Reader:
    """The indices in the folder `data.path`, or those that apt has downloaded."""
    english, foreign = (indices(data, language) for language in ("en", data.language))
    made_from = {"kind": "debian-translations", "files": [identity(path) for path in (*english, *foreign)]}
    return Reader(f"debian-{data.language}", made_from, {"train": lambda ledger: pairs(english, foreign, data, ledger)})


def indices(data: DebianTranslations, language: str) -> list[Path]:
    """The files of a language, of every archive that apt knows."""
    folder = Path(data.path) if data.path else debian.APT_LISTS
    if data.path and not folder.is_dir():
        raise InputError(f"{folder}: no such folder; data.path is a folder of Translation-XX indices")
    name = f"*Translation-{language}"
    found = sorted([*folder.glob(name), *folder.glob(f"{name}.*")])
    if not found:
        elsewhere = f" -o Dir::State::lists={shlex.quote(data.path)}" if data.path else ""
        command = f"apt-get -o Acquire::Languages=en,{data.language}{elsewhere} update"
        raise InputError(f"{folder}: no Translation-{language} index; get it by: {command}")
    return found


def pairs(english: list[Path], foreign: list[Path], data: DebianTranslations, ledger: Ledger) -> Iterator[Pair]:
    """Synopses and paragraphs, each source once. The packages are held, to join them to families."""
    translations = by_md5(foreign, data.language, ledger)
    packages = [package for package in by_md5(english, "en", ledger).values() if package.md5 in translations]
    packages = with_content(packages, ledger)
    seen: set[int] = set()
    for package, family in zip(packages, families(packages), strict=True):
        for source, target in parallel(package, translations[package.md5], ledger):
            if reason := fault(source, target, data.max_words):
                ledger.drop(reason)
                continue
            key = stable_hash(normalised(source))
            if key in seen:
                ledger.drop("same source as another")
                continue
            seen.add(key)
            yield Pair(source, (target,), family)


def by_md5(paths: list[Path], language: str, ledger: Ledger) -> dict[str, Package]:
    """The packages that have a description in the language; of equal descriptions the first."""
    found: dict[str, Package] = {}
    for path in paths:
        for package in parse(path, ledger, language):
            if package.md5 and package.synopsis:
                found.setdefault(package.md5, package)
    return found


def with_content(packages: list[Package], ledger: Ledger) -> list[Package]:
    """Without packages that are described by one template, which would glue strangers together to a family."""
    kept = [package for package in packages if not is_empty(package)]
    ledger.drops["package without content"] += len(packages) - len(kept)
    return kept


def parallel(english: Package, foreign: Package, ledger: Ledger) -> Iterator[tuple[str, str]]:
    """The synopsis and its translation, and so each paragraph if both sides have as many."""
    yield english.synopsis, foreign.synopsis
    if len(english.paragraphs) == len(foreign.paragraphs):
        yield from zip(english.paragraphs, foreign.paragraphs, strict=True)
    else:
        ledger.drop("other paragraphs than the translation")


def fault(source: str, target: str, max_words: int) -> str:
    """Why nothing can be learned from a pair, or nothing."""
    if len(normalised(source).split()) < WORDS:
        return "source too short"
    if max(len(source.split()), len(target.split())) > max_words:
        return "longer than data.max_words"
    return "not translated" if normalised(source) == normalised(target) else ""
