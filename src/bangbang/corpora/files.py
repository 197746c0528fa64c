"""Your own pairs and captions: from a path or a name to the reader it means."""

from pathlib import Path

from bangbang.corpora import captions, hub, parallel, tabular
from bangbang.corpora.pairs import Reader
from bangbang.corpora.settings import Files
from bangbang.corpora.text_files import at_home
from bangbang.errors import InputError


def reader(data: Files) -> Reader:
    """The reader of a file, a folder, or a data set of the `datasets` library."""
    path = at_home(data.corpus)
    if path.is_file() and captions.recognises(path):
        return captions.reader(path, data.features, data.held_out)
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
    if captions.recognises(folder):
        return captions.reader(folder, data.features, data.held_out)
    raise InputError(
        f"{folder}: no corpus here: expected train.src and train.tgt, or train.jsonl, train.csv or train.parquet, "
        "or a folder written by datasets' save_to_disk, or captions of images (JSON, token files, or .txt beside each)"
    )
