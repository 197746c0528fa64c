"""Your own pairs and captions: from a path or a name to the reader it means."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from bangbang.corpora import captions, hub, parallel, string_pairs, tabular
from bangbang.corpora.pairs import Ledger, Pair, Reader, Section
from bangbang.corpora.settings import Files
from bangbang.corpora.text_files import at_home
from bangbang.errors import InputError


def reader(data: Files) -> Reader:
    """The reader of a file, a folder, or a data set of the `datasets` library; texts are in the normal form."""
    found = plain_reader(data)
    if data.normal_form == "as-is":
        return found
    splits = {name: normalised(section, data, found.features is None) for name, section in found.splits.items()}
    return replace(found, identity={**found.identity, "normal_form": data.normal_form}, splits=splits)


def normalised(section: Section, data: Files, sources: bool) -> Section:
    """A section in the normal form; `sources` are texts, and not names of images."""

    def pairs(ledger: Ledger) -> Iterator[Pair]:
        for source, targets, family in section(ledger):
            texts = tuple(map(data.as_read, targets))
            yield Pair(data.as_read(source), texts, data.as_read(family)) if sources else Pair(source, texts, family)

    return pairs


def languages(data: Files) -> list[str]:
    """Those that a folder of strings has files of; one alone is nothing to choose among."""
    folder = at_home(data.corpus)
    found = string_pairs.languages(folder) if folder.is_dir() and not (folder / "train.tsv").exists() else []
    return found if len(found) > 1 else []


def plain_reader(data: Files) -> Reader:
    path = at_home(data.corpus)
    if path.is_file() and captions.recognises(path):
        return captions.reader(path, data.features, data.held_out)
    if path.is_file() and path.suffix == string_pairs.SUFFIX:
        return string_pairs.file_reader(path, data)
    if path.is_file():
        return tabular.file_reader(path, data)
    return folder_reader(path, data) if path.is_dir() else hub.named_reader(data)


def folder_reader(folder: Path, data: Files) -> Reader:
    if hub.recognises(folder):
        return hub.folder_reader(folder, data)
    if parallel.recognises(folder):
        return parallel.folder_reader(folder)
    if tabular.recognises(folder):
        return tabular.folder_reader(folder, data)
    if string_pairs.recognises(folder):
        return string_pairs.folder_reader(folder, data)
    if captions.recognises(folder):
        return captions.reader(folder, data.features, data.held_out)
    raise InputError(
        f"{folder}: no corpus here: expected train.src and train.tgt, or train.jsonl, train.csv, train.parquet "
        "or train.tsv, or a folder written by datasets' save_to_disk, or captions of images (JSON, token files, or "
        ".txt beside each)"
    )
