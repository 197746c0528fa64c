"""A folder of features: `features.npy` [N, F], memory-mapped, `names.txt`, one name a row, and `encoder.json`.

Shapes: N images, F features.
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bangbang.errors import InputError
from bangbang.files import read_json
from bangbang.plain_files import check_plain, read_plain

NAMES, ENCODER, ARRAY = "names.txt", "encoder.json", "features.npy"
ROWS_AT_ONCE = 4096
NAMES_BYTES = 2**30


class FeatureTable:
    """Features by image name. The array may have any name that ends in `.npy`; `encoder.json` may be absent."""

    def __init__(self, folder: Path, path: Path, array: npt.NDArray[Any], names: list[str], encoder: str) -> None:
        self.folder, self.path, self.array, self.names = folder, path, array, names
        self.encoder = encoder
        """Which network made the features, as `open_encoder` takes it; empty if the folder does not say."""
        self._rows = {name: row for row, name in enumerate(names)}
        ends = [file_name(name) for name in names]
        counts = Counter(ends)
        self._ends = {end: row for row, end in enumerate(ends) if counts[end] == 1}

    @classmethod
    def recognises(cls, folder: Path) -> bool:
        return (folder / NAMES).is_file() and any(folder.glob("*.npy"))

    @classmethod
    def open(cls, folder: Path) -> "FeatureTable":
        folder = Path(folder)
        arrays = sorted(folder.glob("*.npy"))
        if len(arrays) != 1 or not (folder / NAMES).is_file():
            raise InputError(
                f"{folder}: no features: expected one .npy file and {NAMES}; make them: "
                f"bangbang features IMAGES -o {folder}"
            )
        try:
            check_plain(arrays[0])
            array = np.lib.format.open_memmap(arrays[0], mode="r")
            names = read_plain(folder / NAMES, NAMES_BYTES).decode("utf-8").splitlines()
        except Exception as error:  # an array's header is Python text: TokenError, SyntaxError, RecursionError, ...
            raise InputError(f"{folder}: damaged features ({error})") from None
        table = cls(folder, arrays[0], array, names, read_encoder(folder))
        table.check()
        return table

    def check(self) -> None:
        """Whether array and names belong together."""
        if self.array.ndim != 2 or self.array.dtype.kind != "f" or self.array.shape[1] == 0:
            kind = f"{self.array.dtype} {list(self.array.shape)}"
            raise InputError(f"{self.path}: expected floating-point features [images, features], not {kind}")
        if len(self.array) != len(self.names):
            raise InputError(f"{self.path}: {len(self.array)} rows, but {NAMES} has {len(self.names)} names")
        if len(self._rows) != len(self.names):
            twice = next(name for name, count in Counter(self.names).items() if count > 1)
            raise InputError(f"{self.folder / NAMES}: {twice!r} is in it twice")

    def check_finite(self) -> None:
        """Every number must be one: reads the whole array once."""
        for start in range(0, len(self.array), ROWS_AT_ONCE):
            bad = ~np.isfinite(self.array[start : start + ROWS_AT_ONCE]).all(1)
            if bad.any():
                row = start + int(bad.argmax())
                raise InputError(
                    f"{self.path}: row {row} ({self.names[row]}) has a feature that is not a finite number"
                )

    @property
    def size(self) -> int:
        """F, the number of features of an image."""
        return int(self.array.shape[1])

    def row(self, name: str) -> int | None:
        """The row of an image: by its whole name, or by its file name where only one image has that."""
        found = self._rows.get(name)
        return self._ends.get(file_name(name)) if found is None else found

    def take(self, rows: Iterable[int] | npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.float32]:
        """These rows, copied to float32. [B, F]"""
        return np.asarray(self.array[np.asarray(rows)], dtype=np.float32)


def file_name(name: str) -> str:
    """The last part of an image's path; `Path` would take ten times as long, for every name of a large table."""
    return name.rpartition("/")[2]


def read_encoder(folder: Path) -> str:
    path = folder / ENCODER
    if not path.is_file():
        return ""
    name = read_json(path).get("encoder")
    if not isinstance(name, str) or not name.isprintable():
        raise InputError(f"{path}: damaged (encoder)")
    return name
