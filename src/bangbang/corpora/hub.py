"""Data sets of the `datasets` library: by name, or a folder that its `save_to_disk` has written."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bangbang import registry
from bangbang.conversion import ANY_CORPUS
from bangbang.corpora.pairs import Reader, Section
from bangbang.corpora.settings import Files
from bangbang.corpora.tabular import Row, check_fields, pairs
from bangbang.errors import InputError
from bangbang.nearness import beside, near
from bangbang.plain_files import check_plain

SPLIT_NAMES = {"train": ("train",), "valid": ("validation", "valid", "dev", "val"), "test": ("test",)}
# what looks like a file's name is none of a data set
FILE_ENDINGS = (".jsonl", ".csv", ".parquet", ".toml", ".json", ".txt", ".src", ".tgt")


def recognises(folder: Path) -> bool:
    return (folder / "dataset_dict.json").exists() or (folder / "state.json").exists()


def folder_reader(folder: Path, data: Files) -> Reader:
    from datasets import load_from_disk

    try:
        for path in folder.rglob("*"):
            if not path.is_dir():
                check_plain(path)
        loaded = load_from_disk(str(folder))
    except Exception as error:  # a damaged folder fails in any layer below: JSON, Arrow, files
        raise InputError(f"{folder}: not readable as a datasets folder: {error}") from None
    return reader(folder.resolve().name, loaded, data)


def named_reader(data: Files) -> Reader:
    """`owner/name`, or `owner/name:config` where the data set has several."""
    name, _, config = data.corpus.partition(":")
    if name.startswith((".", "/", "~")) or Path(name).suffix in FILE_ENDINGS:
        raise InputError(f"{data.corpus}: no such file or folder{near(data.corpus, map(str, beside(Path(name))))}")
    from datasets import load_dataset

    try:
        loaded = load_dataset(name, config or None)
    except Exception as error:  # network, hub, cache and builder errors share no base class
        raise InputError(
            f"{data.corpus}: no built-in corpus, no file or folder, and as a datasets name it cannot be loaded: {error}"
            f"{meant(data.corpus)}"
        ) from None
    return reader(name.replace("/", "-"), loaded, data)


def meant(corpus: str) -> str:
    """What may have been meant: a corpus of ours, or something in the folder that was named."""
    built_in = [name for name in registry.names("corpora") if name != ANY_CORPUS]
    there = (str(path) for path in beside(Path(corpus)))
    return near(corpus, [*built_in, *there]) or f"; those built in are {', '.join(built_in)}"


def reader(name: str, loaded: Any, data: Files) -> Reader:
    tables = {"train": loaded} if hasattr(loaded, "column_names") and not isinstance(loaded, dict) else dict(loaded)
    chosen = {}
    for split, names in SPLIT_NAMES.items():
        if found := next((one for one in names if one in tables), None):
            chosen[split] = tables[found]
    if "train" not in chosen:
        raise InputError(f"{name}: no split 'train'; it has {', '.join(tables)}")
    for split, table in chosen.items():
        check_fields(f"{name}, {split}", (data.source_field, data.target_field), table.column_names)
    made_from = {split: [table.num_rows, table._fingerprint] for split, table in chosen.items()}
    splits = {split: section(f"{name}, {split}", table, data) for split, table in chosen.items()}
    return Reader(name, {"kind": "datasets", **made_from}, splits)


def section(name: str, table: Any, data: Files) -> Section:
    return lambda ledger: pairs(rows(name, table, data), data, ledger)


def rows(name: str, table: Any, data: Files) -> Iterator[Row]:
    number = 0
    wanted = list(dict.fromkeys((data.source_field, data.target_field)))
    try:
        for batch in table.select_columns(wanted).with_format("arrow").iter(1_000):
            batch.validate(full=True)
            sources, targets = batch.column(data.source_field).to_pylist(), batch.column(data.target_field).to_pylist()
            for source, target in zip(sources, targets, strict=True):
                number += 1
                yield f"{name}: row {number}", source, target
    except Exception as error:  # of Arrow, of the library, or of a value that Python has not
        raise InputError(f"{name}: row {number + 1}: cannot be read: {error}") from None
