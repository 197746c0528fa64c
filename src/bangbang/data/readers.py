"""From the word in `data.corpus` to the reader it means."""

from pathlib import Path

from bangbang.config import DataConfig
from bangbang.data.pairs import Reader
from bangbang.errors import InputError


def open_reader(data: DataConfig) -> Reader:
    """The reader of a built-in corpus, a file, a folder, or a data set of the `datasets` library."""
    if data.corpus == "docstrings":
        from bangbang.data import docstrings

        return docstrings.reader(data)
    if data.corpus == "debian":
        from bangbang.data import debian

        return debian.reader(data)
    if data.corpus == "shapes":
        from bangbang.data import shapes

        return shapes.reader(data)
    if data.path:
        raise InputError(f"data.path is for the built-in corpora; to read {data.path} make it data.corpus")
    from bangbang.data import captions

    path = Path(data.corpus).expanduser()
    if path.is_file() and captions.recognises(path):
        return captions.reader(path, data)
    if path.is_file():
        from bangbang.data import tabular

        return tabular.file_reader(path, data)
    if path.is_dir():
        return folder_reader(path, data)
    from bangbang.data import hub

    return hub.named_reader(data)


def folder_reader(folder: Path, data: DataConfig) -> Reader:
    from bangbang.data import captions, hub, parallel, tabular

    if hub.recognises(folder):
        return hub.folder_reader(folder, data)
    if parallel.recognises(folder):
        return parallel.folder_reader(folder)
    if tabular.recognises(folder):
        return tabular.folder_reader(folder, data)
    if captions.recognises(folder):
        return captions.reader(folder, data)
    raise InputError(
        f"{folder}: no corpus here: expected train.src and train.tgt, or train.jsonl, train.csv or train.parquet, "
        "or a folder written by datasets' save_to_disk, or captions of images (JSON, token files, or .txt beside each)"
    )
