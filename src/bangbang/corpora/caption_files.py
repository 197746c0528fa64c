"""Files of captioned images: COCO's JSON, Karpathy's JSON, a plain JSON list, Flickr's token files, text files.

Every parser gives all images at once, with their captions and, where the file says so, their split. What is missing or
odd in a single entry is dropped and counted; a file that is something else is an error.
"""

import json
from collections import Counter
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from bangbang.corpora.pairs import stable_hash
from bangbang.corpora.text_files import UNREADABLE, lines, open_binary
from bangbang.errors import InputError

SPLITS = {"train": "train", "restval": "train", "val": "valid", "valid": "valid", "dev": "valid", "test": "test"}
JSON_BYTES = 2**30  # COCO's captions take 70 MB
TOKEN_SPLITS = {"train": "*trainImages.txt", "valid": "*devImages.txt", "test": "*testImages.txt"}


class Captioned(NamedTuple):
    """An image and what people said of it."""

    name: str
    captions: tuple[str, ...]
    split: str = ""
    """train, valid or test; empty if nobody has said."""


class Album(NamedTuple):
    images: list[Captioned]
    drops: Counter[str]


def read_json(path: Path) -> Any:
    try:
        with open_binary(path) as stream:
            content = stream.read(JSON_BYTES + 1)
        if len(content) > JSON_BYTES:
            raise InputError(f"{path}: larger than {JSON_BYTES // 2**20} MB")
        return json.loads(content.decode("utf-8-sig"))
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}: not JSON: {error.msg}") from None
    except (*UNREADABLE, ValueError, MemoryError) as error:  # ValueError: not UTF-8, or too long a number
        raise InputError(f"{path}: cannot be read: {str(error) or 'larger than the memory'}") from None


def json_album(path: Path, held_out: int) -> Album:
    """Any of the three kinds of JSON, told by its shape."""
    table = read_json(path)
    if isinstance(table, dict) and isinstance(table.get("annotations"), list):
        return coco_album([(path, table)], held_out)
    entries = table.get("images") if isinstance(table, dict) else table
    if not isinstance(entries, list):
        raise InputError(
            f"{path}: not a file of captions: expected COCO's `images` and `annotations`, Karpathy's `images` with "
            "`sentences`, or a list of objects with `filename` and `raw`"
        )
    return listed_album(entries)


def listed_album(entries: list[Any]) -> Album:
    """Karpathy's `images`, or the plain list: `filename`, `split`, and `sentences` (objects with `raw`) or `raw`."""
    drops: Counter[str] = Counter()
    images: dict[str, Captioned] = {}
    for entry in entries:
        entry = entry if isinstance(entry, dict) else {}
        name = entry.get("filename")
        if not isinstance(name, str) or not name.strip():
            drops["image without a file name"] += 1
            continue
        folder = entry.get("filepath")
        name = f"{folder}/{name}" if isinstance(folder, str) and folder else name
        found = entry.get("sentences", entry.get("raw"))
        found = found if isinstance(found, list) else [] if found is None else [found]  # a caption alone counts too
        texts = [one.get("raw") if isinstance(one, dict) else one for one in found]
        split = str(entry.get("split", ""))
        if split and split not in SPLITS:
            drops[f"image of a split {split[:20]!r}, which is none of {', '.join(SPLITS)}"] += 1
        elif name in images:
            drops["image twice"] += 1
        else:
            images[name] = Captioned(name, texts_only(texts, drops), SPLITS.get(split, ""))
    return with_captions(images.values(), drops)


def coco_album(tables: list[tuple[Path, dict[str, Any]]], held_out: int) -> Album:
    """COCO's own files, train and val as one, of which `held_out` images are for validation, as in the paper.

    Which ones, the paper does not say: here those whose names hash lowest, so that everyone has the same.
    """
    drops: Counter[str] = Counter()
    names: dict[Hashable, str] = {}
    captions: dict[Hashable, list[Any]] = {}
    for path, table in tables:
        if not isinstance(table.get("images"), list) or not isinstance(table.get("annotations"), list):
            raise InputError(f"{path}: not COCO's captions: expected lists `images` and `annotations`")
        add_coco_names(names, table["images"], drops)
        add_coco_captions(captions, table["annotations"], drops)
    unknown = sum(len(captions[key]) for key in captions.keys() - names.keys())
    drops += Counter({"caption of an unknown image": unknown})
    images = (Captioned(name, texts_only(captions.get(key, []), drops)) for key, name in names.items())
    album = with_captions(images, drops)
    count = len(album.images)
    if held_out and held_out >= count:
        raise InputError(f"{tables[0][0]}: of {count} images, data.held_out = {held_out} leaves none to train on")
    order = sorted(album.images, key=lambda image: stable_hash(image.name))
    valid = {image.name for image in order[:held_out]}
    split = [image._replace(split="valid" if image.name in valid else "train") for image in album.images]
    return Album(split, drops)


def add_coco_names(names: dict[Hashable, str], images: list[Any], drops: Counter[str]) -> None:
    """The file name of each image id."""
    for image in images:
        key, name = (image.get("id"), image.get("file_name")) if isinstance(image, dict) else (None, None)
        if not isinstance(key, int | str) or not isinstance(name, str) or not name.strip():
            drops["image without an id or file name"] += 1
        elif key in names:
            drops["image twice"] += 1
        else:
            names[key] = name


def add_coco_captions(captions: dict[Hashable, list[Any]], annotations: list[Any], drops: Counter[str]) -> None:
    """The captions of each image id, whatever they are."""
    for annotation in annotations:
        key = annotation.get("image_id") if isinstance(annotation, dict) else None
        if isinstance(key, int | str):
            captions.setdefault(key, []).append(annotation.get("caption"))
        else:
            drops["caption without an image id"] += 1


def token_album(path: Path) -> Album:
    """Flickr's token file: `name.jpg#0<tab>caption` a line; beside it, perhaps, a list of images for each split."""
    drops: Counter[str] = Counter()
    captions: dict[str, list[str]] = {}
    for place, line in enumerate(lines(path), 1):
        if not line.strip():
            continue
        key, tab, text = line.partition("\t")
        name, mark, _ = key.rpartition("#")
        if not tab or not mark or not name:
            raise InputError(f"{path}:{place}: expected name.jpg#0, a tab and a caption, got {line[:40]!r}")
        captions.setdefault(name, []).append(text)
    splits: dict[str, str] = {}
    for split, pattern in TOKEN_SPLITS.items():
        for listed in sorted(path.parent.glob(pattern)):
            splits |= dict.fromkeys((line.strip() for line in lines(listed) if line.strip()), split)
    images = []
    for name, texts in captions.items():
        if splits and name not in splits:
            drops["image in none of the lists of splits"] += 1
        else:
            images.append(Captioned(name, texts_only(texts, drops), splits.get(name, "")))
    return with_captions(images, drops)


def folder_album(folder: Path, names: Iterable[str]) -> Album:
    """Images with a text file of the same name beside each, a caption a line."""
    drops: Counter[str] = Counter()
    images = []
    for name in names:
        path = (folder / name).with_suffix(".txt")
        if path.is_file():
            images.append(Captioned(name, texts_only(list(lines(path)), drops)))
        else:
            drops["image without a text file"] += 1
    return with_captions(images, drops)


def texts_only(texts: list[Any], drops: Counter[str]) -> tuple[str, ...]:
    kept = tuple(" ".join(text.split()) for text in texts if isinstance(text, str) and text.strip())
    if len(kept) < len(texts):
        drops["empty caption, or none at all"] += len(texts) - len(kept)
    return kept


def with_captions(images: Iterable[Captioned], drops: Counter[str]) -> Album:
    every = list(images)
    kept = [image for image in every if image.captions]
    if len(kept) < len(every):
        drops["image without captions"] += len(every) - len(kept)
    return Album(kept, drops)
