"""Checkpoints: weights, optimiser state and progress as safetensors and JSON. Nothing is unpickled.

A checkpoint is a folder `step-00001000` with `model.safetensors`, `optimizer.safetensors` and `state.json`, which
states the step, what the run is, and a checksum of each file. It appears under its name only when it is complete.
Where weights are averaged, `model.safetensors` has the average, which is what a run is judged by, and the weights that
training goes on with are in `raw.safetensors`.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from bangbang.errors import InputError
from bangbang.files import new_file, read_json, way_out, whole_folder, write_whole
from bangbang.plain_files import open_plain
from bangbang.training.tensors import check_finite, check_header, read_tensors, write_tensors

MODEL, OPTIMIZER, STATE = "model.safetensors", "optimizer.safetensors", "state.json"
RAW = "raw.safetensors"
# what each optimiser keeps for a parameter
ENTRIES = {torch.optim.Adagrad: {"step", "sum"}, torch.optim.AdamW: {"step", "exp_avg", "exp_avg_sq"}}


class Progress(NamedTuple):
    """Where training stands, beside weights and optimiser state."""

    step: int = 0
    """Steps taken."""
    seconds: float = 0.0
    """Time spent training, over all sittings."""
    best_step: int = 0
    """Step of the best validation so far; 0 before the first, and where the weights a run began with are the best."""
    best_score: float = 0.0
    validations_since_best: int = 0
    skipped: int = 0
    """Steps that changed nothing because loss or gradient was not finite."""
    skipped_in_a_row: int = 0
    validations: int = 0
    validated_step: int = 0
    """Step of the last validation."""

    @property
    def has_best(self) -> bool:
        return self.validations > 0 or self.best_step > 0  # earlier checkpoints did not count validations


class CheckpointState(NamedTuple):
    """What `state.json` says."""

    progress: Progress
    origin: dict[str, Any]
    """What the run is: its config and its vocabulary's fingerprint."""
    latest: str = MODEL
    """The file of the weights that training goes on with."""


def name_of(step: int) -> str:
    return f"step-{step:08d}"


def checksum(path: Path) -> str:
    with open_plain(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def optimizer_tensors(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimiser's state as `<parameter>|<entry>` → tensor."""
    return {
        f"{name}|{entry}": torch.as_tensor(value)
        for name, parameter in model.named_parameters()
        for entry, value in optimizer.state[parameter].items()
    }


def save(
    folder: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    progress: Progress,
    origin: Mapping[str, Any] | None = None,
    average: Mapping[str, Tensor] | None = None,
) -> Path:
    """Write the checkpoint of this step below `folder` and return it; `average` is the model's state, averaged."""
    target = folder / name_of(progress.step)
    files: dict[str, Mapping[str, Tensor]] = {MODEL: model.state_dict(), OPTIMIZER: optimizer_tensors(model, optimizer)}
    if average is not None:
        files |= {MODEL: average, RAW: files[MODEL]}
    for tensors in files.values():
        check_finite(f"step {progress.step}: no checkpoint is written", tensors)
    try:
        with whole_folder(target, replace=True) as draft:
            for name, tensors in files.items():
                with new_file(draft / name) as file:
                    write_tensors(file, {key: tensor.contiguous() for key, tensor in tensors.items()})
            sums = {name: checksum(draft / name) for name in files}
            table = {**progress._asdict(), "origin": dict(origin or {}), "sha256": sums}
            write_whole(draft / STATE, json.dumps(table, indent=1) + "\n")
    except OSError as error:
        raise InputError(
            f"{target}: cannot be written ({error}); earlier checkpoints are as they were; "
            f"{way_out(error, 'go on with --resume')}"
        ) from None
    return target


def read_state(checkpoint: Path) -> CheckpointState:
    """The checkpoint's state, once its files have been found whole."""
    path = checkpoint / STATE
    state = read_json(path)
    sums, origin = state.pop("sha256", None), state.pop("origin", None)
    if not isinstance(sums, dict) or not isinstance(origin, dict):
        raise InputError(f"{path}: damaged (no checksums, or no origin)")
    progress = progress_of(state, path)
    if name_of(progress.step) != checkpoint.name:
        raise InputError(f"{path}: damaged (is of step {progress.step})")
    latest = RAW if RAW in sums else MODEL
    for name in dict.fromkeys((MODEL, OPTIMIZER, latest)):
        try:
            matches = checksum(checkpoint / name) == sums.get(name)
        except OSError as error:
            raise InputError(f"{checkpoint / name}: damaged or missing ({error.strerror})") from None
        if not matches:
            raise InputError(f"{checkpoint / name}: does not match its checksum")
    return CheckpointState(progress, origin, latest)


def progress_of(state: dict[str, Any], path: Path) -> Progress:
    kinds = Progress.__annotations__
    for name, value in state.items():
        if name not in kinds:
            raise InputError(f"{path}: damaged (unknown entry {name!r})")
        number = isinstance(value, int if kinds[name] is int else (int, float)) and not isinstance(value, bool)
        if not number or not 0 <= value < 2**53 or not math.isfinite(value):
            raise InputError(f"{path}: damaged ({name} is {str(value)[:40]!r})")
    return Progress(**state)


def read_progress(checkpoint: Path) -> Progress:
    """The checkpoint's progress, once its files have been found whole."""
    return read_state(checkpoint).progress


def check_model(checkpoint: Path, model: nn.Module, file: str = MODEL) -> None:
    """Whether the checkpoint's weights fit `model`, by names, shapes and types alone: `model` may be without memory."""
    check_header(checkpoint / file, model.state_dict())


def read_weights(checkpoint: Path, model: nn.Module, file: str = MODEL) -> dict[str, Tensor]:
    """The checkpoint's weights; names and shapes must agree with the model's, and every number must be finite."""
    check_model(checkpoint, model, file)
    tensors = read_tensors(checkpoint / file)
    check_finite(str(checkpoint / file), tensors)
    return tensors


def load_model(checkpoint: Path, model: nn.Module, file: str = MODEL) -> None:
    """Put the checkpoint's weights into `model`."""
    model.load_state_dict(read_weights(checkpoint, model, file))


def load_optimizer(checkpoint: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Put the checkpoint's optimiser state back; every parameter must have all of it, or, before a first step, none."""
    path, parameters = checkpoint / OPTIMIZER, dict(model.named_parameters())
    entries = ENTRIES[type(optimizer)]
    tensors = read_tensors(path)
    check_finite(str(path), tensors)
    for name in {key.partition("|")[0] for key in tensors}:
        if name not in parameters:
            raise InputError(f"{path}: has state of {name!r}, which this model has not")
        found = {key.partition("|")[2]: value for key, value in tensors.items() if key.partition("|")[0] == name}
        if set(found) != entries:
            raise InputError(f"{path}: {name!r} has {sorted(found)} instead of {sorted(entries)}; another optimiser's")
        for entry, value in found.items():
            shape = torch.Size() if entry == "step" else parameters[name].shape
            if value.shape != shape or value.dtype != torch.float32:
                raise InputError(f"{path}: {name}|{entry} has shape {list(value.shape)} instead of {list(shape)}")
            optimizer.state[parameters[name]][entry] = value.to(parameters[name].device)
