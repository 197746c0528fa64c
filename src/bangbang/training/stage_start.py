"""The weights that a stage began with, for a method that compares the model with them.

They are the folder `start-1` beside the checkpoints, for the first stage, with `model.safetensors` and a checksum of it
in `state.json`. It is written once, when the stage begins, and stays.
"""

import copy
import json
from pathlib import Path
from typing import TypeVar

from torch import nn

from bangbang.errors import InputError
from bangbang.files import new_file, read_json, way_out, whole_folder, write_whole
from bangbang.training.checkpoint import MODEL, STATE, checksum, load_model
from bangbang.training.tensors import write_tensors

M = TypeVar("M", bound=nn.Module)


def frozen(model: M) -> M:
    """A copy that is not trained, in eval mode."""
    return copy.deepcopy(model).requires_grad_(False).eval()


def folder_of(checkpoints: Path, stage: int) -> Path:
    """Stages are counted from 0, their folders from 1."""
    return checkpoints / f"start-{stage + 1}"


def save(checkpoints: Path, stage: int, model: nn.Module) -> None:
    target = folder_of(checkpoints, stage)
    try:
        with whole_folder(target, replace=True) as draft:
            with new_file(draft / MODEL) as file:
                write_tensors(file, {name: tensor.contiguous() for name, tensor in model.state_dict().items()})
            write_whole(draft / STATE, json.dumps({"sha256": checksum(draft / MODEL)}) + "\n")
    except OSError as error:
        raise InputError(f"{target}: cannot be written ({error}); {way_out(error, 'go on with --resume')}") from None


def load(checkpoints: Path, stage: int, model: nn.Module) -> None:
    """Put the weights that the stage began with into `model`."""
    folder = folder_of(checkpoints, stage)
    try:
        known = read_json(folder / STATE).get("sha256")
        if checksum(folder / MODEL) != known:
            raise InputError(f"{folder / MODEL}: does not match its checksum")
        load_model(folder, model)
    except (InputError, OSError) as error:
        raise InputError(
            f"{error}; stage {stage + 1} needs the weights it began with: put the folder back, or train anew"
        ) from None
