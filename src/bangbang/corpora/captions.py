"""Captioned images as a corpus: which files a path means, and the table of features that belongs to them."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from bangbang.corpora.caption_files import (
    Album,
    Captioned,
    coco_album,
    folder_album,
    json_album,
    read_json,
    token_album,
)
from bangbang.corpora.pairs import Ledger, Pair, Reader, Section, stable_hash
from bangbang.corpora.text_files import at_home, identity
from bangbang.errors import InputError
from bangbang.features import FeatureTable, image_names

COCO = "captions_{part}{year}.json"
TOKENS = ("*.token.txt", "*.token")
LISTS = ("captions.json", "dataset*.json")
DRAWN = "synthetic-"  # begins the names of pictures that `shapes` has drawn, wherever they are now


def recognises(path: Path) -> bool:
    """Whether a file or folder holds captions of images."""
    if path.is_file():
        return path.suffix == ".json" or path.name.endswith((".token", ".token.txt"))
    return bool(caption_files(path)) or any((path / name).with_suffix(".txt").is_file() for name in first_images(path))


def first_images(folder: Path) -> list[str]:
    return image_names(folder)[:20]


def caption_files(folder: Path) -> list[Path]:
    """The files of captions in a folder: one, or COCO's of train and val."""
    for year in ("2014", "2017"):
        coco = [folder / COCO.format(part=part, year=year) for part in ("train", "val")]
        if any(path.is_file() for path in coco):
            other = folder / COCO.format(part="train", year="2017" if year == "2014" else "2014")
            if other.is_file():
                raise InputError(f"{folder}: captions of both 2014 and 2017, which are of the same images; keep one")
            return [path for path in coco if path.is_file()]
    found = [path for pattern in (*LISTS, *TOKENS) for path in sorted(folder.glob(pattern))]
    found = [path for path in found if ".lemma." not in path.name]
    if len(found) > 1:
        names = " and ".join(path.name for path in found[:3])
        raise InputError(f"{folder}: {names}: give the one that is meant as data.corpus")
    return found


def reader(path: Path, features: str = "", held_out: int = 0) -> Reader:
    """The reader of a file or folder that `recognises` knows; `features`: the folder of the images' features."""
    files = [path] if path.is_file() else caption_files(path)
    album = read_album(path, files, held_out)
    table = feature_table(path if path.is_dir() else path.parent, features)
    matched, drops = with_features(album, table)
    made_from: object = [identity(file) for file in files] or f"{stable_hash(repr(matched)):016x}"
    feature_files = [identity(table.path), identity(table.folder / "names.txt")]
    given = sorted({image.split or "train" for image in matched})
    if "train" not in given:
        raise InputError(f"{path}: no image for training; its splits are {', '.join(given)}")
    splits = {split: section(matched, split, drops if split == "train" else Counter()) for split in given}
    name = path.resolve().name if path.is_dir() else path.name.split(".")[0]
    made = {"kind": "captions", "captions": made_from, "features": feature_files, "held_out": held_out}
    return Reader(name, made, splits, table, synthetic=all(image.name.startswith(DRAWN) for image in matched))


def read_album(path: Path, files: list[Path], held_out: int) -> Album:
    if not files:
        return folder_album(path, image_names(path))
    if files[0].suffix != ".json":
        return token_album(files[0])
    if len(files) > 1 or files[0].name.startswith("captions_"):
        return coco_album([(file, table_of(file)) for file in files], held_out)
    return json_album(files[0], held_out)


def table_of(file: Path) -> dict[str, object]:
    table = read_json(file)
    return table if isinstance(table, dict) else {}


def feature_table(folder: Path, features: str) -> FeatureTable:
    """The features in the folder that is named, or beside the captions."""
    where = at_home(features) if features else folder
    if not FeatureTable.recognises(where):
        raise InputError(
            f"{where}: no features of the images; make them: bangbang features IMAGES -o FEATURES, and set "
            "data.features=FEATURES"
        )
    return FeatureTable.open(where)


def with_features(album: Album, table: FeatureTable) -> tuple[list[Captioned], Counter[str]]:
    """The images that have a row of features; the others are counted among the drops."""
    matched = [image for image in album.images if table.row(image.name) is not None]
    lost = len(album.images) - len(matched)
    if album.images and not matched:
        raise InputError(
            f"{table.folder}: these features are of other images: none of the {len(album.images)} captioned ones, such "
            f"as {album.images[0].name}, is among its {len(table.names)} names, such as {next(iter(table.names), '')}"
        )
    return matched, album.drops + Counter({"image without features": lost} if lost else {})


def section(images: list[Captioned], split: str, drops: Counter[str]) -> Section:
    def pairs(ledger: Ledger) -> Iterator[Pair]:
        ledger.drops.update(drops)
        for image in images:
            if (image.split or "train") == split:
                yield Pair(image.name, image.captions, image.name)

    return pairs
