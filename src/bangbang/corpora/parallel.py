"""Parallel text: `train.src` and `train.tgt` line by line, several references as `.tgt0 .. .tgtN`."""

import re
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path

from bangbang.corpora.pairs import Ledger, Pair, Reader, Section
from bangbang.corpora.text_files import identity, lines
from bangbang.errors import InputError

# split -> the names its files may begin with
ALIASES = {"train": ("train",), "valid": ("valid", "dev", "val"), "test": ("test",)}
TICK = 10_000  # lines between two moves of the progress bar


def recognises(folder: Path) -> bool:
    return any((folder / f"train.{side}").exists() for side in ("src", "tgt", "tgt0"))


def folder_reader(folder: Path) -> Reader:
    files = {split: split_files(folder, split) for split in ALIASES}
    present = {split: paths for split, paths in files.items() if paths}
    made_from = {split: [identity(path) for path in paths] for split, paths in present.items()}
    splits = {split: section(*paths) for split, paths in present.items()}
    return Reader(folder.resolve().name, {"kind": "parallel", **made_from}, splits)


def split_files(folder: Path, split: str) -> list[Path]:
    """The source file and the reference files of a split, or nothing if it is not there."""
    stem = one_name(folder, ALIASES[split], ".src")
    if stem is None:
        if split == "train" or any(references(folder, name) for name in ALIASES[split]):
            raise InputError(f"{folder / split}.src: no such file, though the folder has its targets")
        return []
    targets = references(folder, stem)
    if not targets:
        raise InputError(
            f"{folder / stem}.tgt: no such file; {stem}.src needs {stem}.tgt, or {stem}.tgt0, {stem}.tgt1 ..."
        )
    return [folder / f"{stem}.src", *targets]


def one_name(folder: Path, names: Iterable[str], ending: str) -> str | None:
    """The one of a split's names under which the folder has a file."""
    found = [name for name in names if (folder / f"{name}{ending}").exists()]
    if len(found) > 1:
        raise InputError(f"{folder}: {' and '.join(name + ending for name in found)} are the same split; keep one")
    return found[0] if found else None


def references(folder: Path, stem: str) -> list[Path]:
    numbered = {
        int(match[1]): path
        for path in folder.glob(f"{stem}.tgt*")
        if (match := re.fullmatch(r".*\.tgt(0|[1-9]\d*)", path.name))
    }
    single = folder / f"{stem}.tgt"
    if single.exists() and numbered:
        raise InputError(f"{single}: there is also {numbered[min(numbered)].name}; keep either the one or the numbered")
    for place, index in enumerate(sorted(numbered)):
        if index != place:
            raise InputError(f"{folder}: {stem}.tgt{place} is missing, though {stem}.tgt{index} is there")
    return [single] if single.exists() else [numbered[index] for index in sorted(numbered)]


def section(source: Path, *targets: Path) -> Section:
    return lambda ledger: pairs(source, targets, ledger)


def pairs(source: Path, targets: tuple[Path, ...], ledger: Ledger) -> Iterator[Pair]:
    files = (source, *targets)
    for number, row in enumerate(zip_longest(*map(lines, files)), 1):
        if None in row:
            unequal(files)
        text, *references = row
        yield Pair(text, tuple(references), text)
        if number % TICK == 0:
            ledger.progress(number, 0)


def unequal(files: tuple[Path, ...]) -> None:
    counts = {path: sum(1 for _ in lines(path)) for path in files}
    short = min(counts, key=lambda path: counts[path])
    told = ", ".join(f"{path.name} has {count}" for path, count in counts.items())
    raise InputError(f"{short}:{counts[short] + 1}: line missing: {told} lines; line n of each must belong together")
