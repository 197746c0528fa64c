"""Safetensors: written to an open file, and read where somebody else may have made them.

What a file declares is checked before any of it is loaded.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from bangbang.errors import InputError
from bangbang.plain_files import open_plain

HEADER_BYTES = 2**20  # our headers have a few thousand
TYPES = {"F32": torch.float32, "F64": torch.float64, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64}
WIDEST_FIRST = ("I64", "F64", "F32", "BF16", "F16")


def write_tensors(file: IO[bytes], tensors: Mapping[str, Tensor]) -> None:
    """Write tensors as the library's own `save_file` does, which takes no open file. Byte by byte the same.

    A file is the header's length in 8 bytes, the header in JSON, filled up with blanks to a multiple of 8, and the
    tensors: the widest type first, and those of a type by name.
    """
    header: dict[str, dict[str, object]] = {}
    end, types = 0, {dtype: name for name, dtype in TYPES.items()}
    order = sorted(tensors, key=lambda name: (WIDEST_FIRST.index(types[tensors[name].dtype]), name))
    for name in order:
        tensor, start = tensors[name], end
        end += tensor.nbytes
        header[name] = {"dtype": types[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little") + text)
    for name in order:
        file.write(tensors[name].detach().cpu().reshape(-1).view(torch.uint8).numpy().data)


def read_header(path: Path) -> dict[str, tuple[torch.dtype | None, list[int]]]:
    """The types and shapes that a file declares, by name; no tensor is read."""
    try:
        with open_plain(path) as file:
            size = os.fstat(file.fileno()).st_size
            length = int.from_bytes(file.read(8), "little")
            if length > min(HEADER_BYTES, size):
                raise InputError(f"{path}: damaged (declares a header of {length} bytes)")
            header = json.loads(file.read(length))
        entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
        return {name: (TYPES.get(entry["dtype"]), list(entry["shape"])) for name, entry in entries.items()}
    except InputError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{path}: damaged or missing ({error})") from None


def check_header(path: Path, expected: Mapping[str, Tensor]) -> None:
    """An InputError unless the file declares the expected tensors and no others."""
    declared = read_header(path)
    for name, own in expected.items():
        if name not in declared:
            raise InputError(f"{path}: has no {name!r}; it belongs to another model")
        dtype, shape = declared[name]
        if shape != list(own.shape) or dtype != own.dtype:
            raise InputError(f"{path}: {name!r} has shape {shape}, this model {list(own.shape)} of {own.dtype}")
    for name in declared:
        if name not in expected:
            raise InputError(f"{path}: has {name[:80]!r}, which this model has not")


def read_tensors(path: Path) -> dict[str, Tensor]:
    """All tensors of a file; the library checks that they lie within it and do not overlap."""
    read_header(path)
    try:
        return load_file(path)
    except (OSError, SafetensorError, ValueError, KeyError, RuntimeError) as error:
        raise InputError(f"{path}: damaged or missing ({error})") from None


def check_finite(where: str, tensors: Mapping[str, Tensor]) -> None:
    """An InputError that names the first tensor with a NaN or an infinity in it."""
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise InputError(f"{where}: {name!r} has a number that is not finite")
