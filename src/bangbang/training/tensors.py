"""Reading safetensors that somebody else may have made: what a file declares is checked before any of it is loaded."""

import json
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from bangbang.errors import InputError

HEADER_BYTES = 2**20  # our headers have a few thousand
TYPES = {"F32": torch.float32, "F64": torch.float64, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64}


def read_header(path: Path) -> dict[str, tuple[torch.dtype | None, list[int]]]:
    """The types and shapes that a file declares, by name; no tensor is read."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
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
