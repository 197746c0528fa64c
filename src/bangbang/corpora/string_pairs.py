"""Strings and what is to be made of them, tab-separated without a header, one file per split, perhaps per language.

Two columns are a source and its target, such as a word and its phones. Three are a lemma, a form and features with
semicolons between them, as UniMorph has them: lemma and features are the source, with a tab before each feature.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from bangbang.corpora.pairs import Ledger, Pair, Reader, Section
from bangbang.corpora.parallel import ALIASES, TICK, one_name
from bangbang.corpora.settings import Files
from bangbang.corpora.text_files import identity, lines
from bangbang.errors import InputError

SUFFIX = ".tsv"
COLUMNS = {2: "a source and its target", 3: "a lemma, a form and features"}
Row = tuple[str, str]  # source and target


def recognises(folder: Path) -> bool:
    return (folder / f"train{SUFFIX}").exists() or bool(languages(folder))


def languages(folder: Path) -> list[str]:
    """Those of which a folder has a training file, such as `dut` for dut_train.tsv."""
    ending = f"_train{SUFFIX}"
    return sorted(path.name.removesuffix(ending) for path in folder.glob(f"*{ending}") if path.name != ending)


def file_reader(path: Path, data: Files) -> Reader:
    """One file, to be split by source."""
    return reader(path.stem, {"train": path}, data)


def folder_reader(folder: Path, data: Files) -> Reader:
    language = chosen_language(folder, data.language)
    before = f"{language}_" if language else ""
    files = {}
    for split, names in ALIASES.items():
        if found := one_name(folder, [f"{before}{name}" for name in names], SUFFIX):
            files[split] = folder / f"{found}{SUFFIX}"
    return reader(language or folder.resolve().name, files, data)


def chosen_language(folder: Path, language: str) -> str:
    """The language that is asked for or, where none is, the one that there is; empty for files without one."""
    found = languages(folder)
    if language and language not in found:
        raise InputError(f"{folder}: no {language}_train{SUFFIX}; there are {', '.join(found) or 'no languages'}")
    if language or (folder / f"train{SUFFIX}").exists():
        return language
    if len(found) > 1:
        raise InputError(f"{folder}: has several languages; set data.language to one of {', '.join(found)}")
    return found[0]


def reader(name: str, files: dict[str, Path], data: Files) -> Reader:
    made_from = {split: identity(path) for split, path in files.items()}
    identified = {"kind": "strings", "merged": data.merge_sources, **made_from}
    return Reader(name, identified, {split: section(path, data) for split, path in files.items()})


def section(path: Path, data: Files) -> Section:
    grouped = merged if data.merge_sources else single
    return lambda ledger: pairs(grouped(rows(path, data)), ledger)


def pairs(found: Iterable[tuple[str, tuple[str, ...]]], ledger: Ledger) -> Iterator[Pair]:
    for number, (source, targets) in enumerate(found, 1):
        yield Pair(source, targets, source)
        if number % TICK == 0:
            ledger.progress(number, 0)


def single(found: Iterable[Row]) -> Iterable[tuple[str, tuple[str, ...]]]:
    return ((source, (target,)) for source, target in found)


def merged(found: Iterable[Row]) -> Iterable[tuple[str, tuple[str, ...]]]:
    """Rows of one source as one with several targets, each once, in the order of their first lines."""
    several: dict[str, dict[str, None]] = {}
    for source, target in found:
        several.setdefault(source, {})[target] = None
    return ((source, tuple(targets)) for source, targets in several.items())


def rows(path: Path, data: Files) -> Iterator[Row]:
    """Source and target of each line; blank lines are skipped. The first line says how many columns there are."""
    width = 0
    for number, line in enumerate(lines(path), 1):
        if not line.strip():
            continue
        columns = [data.as_read(column.strip()) for column in line.split("\t")]
        place, width = f"{path}:{number}", width or len(columns)
        if len(columns) not in COLUMNS:
            known = ", or ".join(f"{count} for {meaning}" for count, meaning in COLUMNS.items())
            raise InputError(f"{place}: {len(columns)} columns with tabs between them; expected {known}")
        if len(columns) != width:
            raise InputError(f"{place}: {len(columns)} columns, but the lines before have {width}")
        if not all(columns):
            raise InputError(f"{place}: an empty column; write {COLUMNS[width]}, or take the line out")
        yield row(columns)


def row(columns: list[str]) -> Row:
    if len(columns) == 2:
        return columns[0], columns[1]
    lemma, form, features = columns
    return "\t".join([lemma, *filter(None, map(str.strip, features.split(";")))]), form
