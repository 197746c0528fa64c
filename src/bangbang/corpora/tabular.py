"""JSONL, CSV and Parquet: rows with named fields, in one file to split or one file per split."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from bangbang.corpora.pairs import Ledger, Pair, Reader, Section
from bangbang.corpora.parallel import ALIASES, TICK, one_name
from bangbang.corpora.settings import Files
from bangbang.corpora.text_files import identity, lines
from bangbang.errors import InputError
from bangbang.plain_files import check_plain

# a row's place ("file:line") and its two fields
Row = tuple[str, Any, Any]


def recognises(folder: Path) -> bool:
    return any((folder / f"train{suffix}").exists() for suffix in FORMATS)


def file_reader(path: Path, data: Files) -> Reader:
    """One file, to be split by source text."""
    if path.suffix not in FORMATS:
        raise InputError(
            f"{path}: unknown kind of file; known are {', '.join(FORMATS)} and .tsv, or a folder with train.src"
        )
    return reader(path.stem, {"train": path}, data)


def folder_reader(folder: Path, data: Files) -> Reader:
    files: dict[str, Path] = {}
    for split, names in ALIASES.items():
        found = [f"{name}{suffix}" for suffix in FORMATS if (name := one_name(folder, names, suffix))]
        if len(found) > 1:
            raise InputError(f"{folder}: {' and '.join(found)} are the same split; keep one")
        if found:
            files[split] = folder / found[0]
    return reader(folder.resolve().name, files, data)


def reader(name: str, files: dict[str, Path], data: Files) -> Reader:
    made_from = {split: identity(path) for split, path in files.items()}
    return Reader(name, {"kind": "table", **made_from}, {split: section(path, data) for split, path in files.items()})


def section(path: Path, data: Files) -> Section:
    rows = FORMATS[path.suffix]
    return lambda ledger: pairs(rows(path, data.source_field, data.target_field), data, ledger)


def pairs(rows: Iterable[Row], data: Files, ledger: Ledger) -> Iterator[Pair]:
    """The rows as pairs. A null counts as empty; anything but text, or a list of texts as target, is an error."""
    for number, (place, source, target) in enumerate(rows, 1):
        source = "" if source is None else source
        targets = target if isinstance(target, list) else [target]
        targets = ["" if text is None else text for text in targets]
        for name, text in ((data.source_field, source), *((data.target_field, text) for text in targets)):
            if not isinstance(text, str):
                raise InputError(f"{place}: field {name!r} is {type(text).__name__}, not text: {str(text)[:40]}")
        yield Pair(source, tuple(targets), source)
        if number % TICK == 0:
            ledger.progress(number, 0)


def check_fields(place: Path | str, wanted: Sequence[str], present: Iterable[str]) -> None:
    names = list(present)
    for field in wanted:
        if names.count(field) > 1:
            raise InputError(f"{place}: has several fields {field!r}; keep one")
        if field not in names:
            raise InputError(
                f"{place}: no field {field!r}; it has {', '.join(map(repr, names)) or 'none'}; "
                "set data.source_field and data.target_field"
            )


def check_header(path: Path, header: Sequence[str]) -> None:
    """An InputError if the first line is that of another format than CSV."""
    if header and header[0].lstrip().startswith("{"):
        raise InputError(f"{path}: not CSV but JSON, by its first line; rename it to {path.stem}.jsonl")
    for mark, name in ((";", "semicolons"), ("\t", "tabs")):
        if len(header) == 1 and mark in header[0]:
            raise InputError(f"{path}: its fields are parted by {name}, not by commas; write it anew with commas")


def json_rows(path: Path, source: str, target: str) -> Iterator[Row]:
    for number, line in enumerate(lines(path), 1):
        place = f"{path}:{number}"
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            told = "; each line is an object, as in {...}; a table with a header is a .csv" if number == 1 else ""
            raise InputError(f"{place}: not JSON: {error}{told}") from None
        if not isinstance(row, dict):
            raise InputError(f"{place}: expected an object with fields, got {line[:40]}")
        check_fields(place, (source, target), row)
        yield place, row[source], row[target]


def csv_rows(path: Path, source: str, target: str) -> Iterator[Row]:
    rows = csv.reader((f"{line}\n" for line in lines(path)), strict=True)
    try:
        header = next(rows, [])
        check_header(path, header)
        check_fields(path, (source, target), header)
        columns = header.index(source), header.index(target)
        for row in rows:
            if not row:
                continue
            if len(row) != len(header):
                raise InputError(f"{path}:{rows.line_num}: {len(row)} fields, but the header names {len(header)}")
            yield f"{path}:{rows.line_num}", row[columns[0]], row[columns[1]]
    except csv.Error as error:
        raise InputError(f"{path}:{rows.line_num}: not CSV: {error}") from None


def parquet_rows(path: Path, source: str, target: str) -> Iterator[Row]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        check_plain(path)
        with pq.ParquetFile(path) as file:
            check_fields(path, (source, target), file.schema_arrow.names)
            for batch in file.iter_batches(1_000, columns=list({source, target})):
                batch.validate(full=True)
                for left, right in zip(batch.column(source).to_pylist(), batch.column(target).to_pylist(), strict=True):
                    number += 1
                    yield f"{path}: row {number}", left, right
    except InputError:
        raise
    # KeyError, TypeError: of a batch; ValueError, OverflowError: of a value that Python has not, such as the year 10000
    except (pa.ArrowException, OSError, ValueError, LookupError, TypeError, OverflowError) as error:
        raise InputError(f"{path}: row {number + 1}: not readable as Parquet: {error}") from None


FORMATS: dict[str, Callable[[Path, str, str], Iterator[Row]]] = {
    ".jsonl": json_rows,
    ".csv": csv_rows,
    ".parquet": parquet_rows,
}
