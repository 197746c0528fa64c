"""From a folder of images to a table of their features, part by part, so that an interrupted call goes on.

Each part is a small table of its own in `parts/`, written whole. At the end all parts become the table and are removed.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bangbang.errors import InputError
from bangbang.features.encoders import Encoder
from bangbang.features.images import ENDINGS, UnreadableImageError, read_image
from bangbang.features.table import ARRAY, ENCODER, NAMES, FeatureTable
from bangbang.files import check_folder, remove, whole_file, whole_folder, write_whole

if TYPE_CHECKING:
    from PIL import Image

PARTS, PART_IMAGES, BATCH = "parts", 256, 16

Halves = npt.NDArray[np.float16]


class Extraction(NamedTuple):
    table: FeatureTable
    computed: int
    """Images whose features were computed now."""
    found: int
    """Images that had features already."""
    skipped: list[str]
    """Why each image that could not be read was left out."""


def image_names(folder: Path) -> list[str]:
    """The images below a folder, as paths relative to it, in order; hidden files are left out."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder of images")
    paths = (path for path in folder.rglob("*") if path.suffix.lower() in ENDINGS and path.is_file())
    names = sorted(path.relative_to(folder).as_posix() for path in paths)
    return [name for name in names if not any(part.startswith(".") for part in name.split("/"))]


def extract(
    images: Path,
    folder: Path,
    encoder: Encoder,
    done: Callable[[int, int], object] = lambda images, total: None,
    tell: Callable[[str], object] = lambda message: None,
) -> Extraction:
    """Features of every image below `images`, in the table at `folder`; those that it has already are kept.

    `done` is called with (images done, of how many), `tell` with the reason for every image that is skipped.
    """
    names = image_names(images)
    if not names:
        raise InputError(f"{images}: no image in it; looked for {', '.join(ENDINGS)}")
    check_folder(folder)
    earlier = earlier_tables(folder, encoder.name)
    known = {name for table in earlier for name in table.names}
    missing = [name for name in names if name not in known]
    done(len(names) - len(missing), len(names))
    skipped: list[str] = []
    for start in range(0, len(missing), PART_IMAGES):
        chunk = missing[start : start + PART_IMAGES]
        kept, rows = encode(images, chunk, encoder, skipped, tell)
        if kept:
            earlier.append(write_part(folder, kept, rows, encoder.name))
        done(len(names) - len(missing) + start + len(chunk), len(names))
    if not earlier:
        raise InputError(f"{images}: none of its {len(names)} images can be read; the first: {skipped[0]}")
    table = merge(folder, earlier, encoder.name)
    return Extraction(table, len(missing) - len(skipped), len(names) - len(missing), skipped)


def encode(
    images: Path, names: Sequence[str], encoder: Encoder, skipped: list[str], tell: Callable[[str], object]
) -> tuple[list[str], list[Halves]]:
    """The names of the images that could be read, and their features in half precision."""
    kept: list[str] = []
    rows: list[Halves] = []
    readable = readable_images(images, names, skipped, tell)
    while batch := list(islice(readable, BATCH)):
        with np.errstate(over="ignore"):  # an overflow is found and named below
            features = encoder.encode([image for _, image in batch]).numpy().astype(np.float16)
        if not np.isfinite(features).all():
            name = batch[int((~np.isfinite(features)).any(1).argmax())][0]
            raise InputError(f"{images / name}: {encoder.name} gives a feature beyond half precision")
        kept += [name for name, _ in batch]
        rows += list(features)
    return kept, rows


def readable_images(
    images: Path, names: Sequence[str], skipped: list[str], tell: Callable[[str], object]
) -> Iterator[tuple[str, "Image.Image"]]:
    for name in names:
        try:
            if len(name.splitlines()) != 1:
                raise UnreadableImageError(f"{images / name!r}: a line break in its name")
            yield name, read_image(images / name)
        except UnreadableImageError as error:
            skipped.append(str(error))
            tell(str(error))


def earlier_tables(folder: Path, encoder: str) -> list[FeatureTable]:
    """What earlier calls have left: the finished table and parts."""
    parts = sorted(path for path in (folder / PARTS).glob("part-*") if FeatureTable.recognises(path))
    tables = [FeatureTable.open(path) for path in parts]
    if FeatureTable.recognises(folder):
        try:
            tables.insert(0, FeatureTable.open(folder))
        except InputError:  # a merge that was cut off between its files; its parts are still there
            if not parts:
                raise
    for table in tables:
        if table.encoder != encoder:
            other = table.encoder or "an encoder that it does not name"
            raise InputError(f"{table.folder}: its features were made by {other}, not {encoder}; choose another folder")
    return tables


def write_part(folder: Path, names: list[str], rows: list[Halves], encoder: str) -> FeatureTable:
    taken = {path.name for path in (folder / PARTS).glob("part-*")}
    number = next(number for number in range(len(taken) + 1) if f"part-{number:05d}" not in taken)
    target = folder / PARTS / f"part-{number:05d}"
    with whole_folder(target) as draft:
        write_array(draft / ARRAY, len(rows), rows)
        describe(draft, names, encoder)
    return FeatureTable.open(target)


def merge(folder: Path, tables: list[FeatureTable], encoder: str) -> FeatureTable:
    """One table of all, by name."""
    if len(tables) == 1 and tables[0].folder == folder:
        return tables[0]
    if len(sizes := {table.size for table in tables}) > 1:
        numbers = " and ".join(map(str, sorted(sizes)))
        raise InputError(f"{folder}: {numbers} features an image, all by {encoder}; choose another folder")
    places = {name: (table, row) for table in tables for row, name in enumerate(table.names)}
    names = sorted(places)
    found = (places[name] for name in names)
    write_array(folder / ARRAY, len(names), (table.array[row] for table, row in found))
    describe(folder, names, encoder)
    remove(folder / PARTS)
    return FeatureTable.open(folder)


def write_array(path: Path, count: int, rows: Iterable[npt.NDArray[Any]]) -> None:
    """An .npy file of so many rows, which are not held in memory.

    Written, not mapped: on a full disk a write raises an error, a map ends the process.
    """
    with whole_file(path) as stream:
        for place, row in enumerate(rows):
            if place == 0:
                header = {"descr": "<f2", "fortran_order": False, "shape": (count, len(row))}
                np.lib.format.write_array_header_1_0(stream, header)
            stream.write(row.astype("<f2").tobytes())


def describe(folder: Path, names: list[str], encoder: str) -> None:
    write_whole(folder / ENCODER, json.dumps({"encoder": encoder}) + "\n")
    write_whole(folder / NAMES, "".join(name + "\n" for name in names))
