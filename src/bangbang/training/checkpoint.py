"""Checkpoints: weights, optimiser state and progress as safetensors and JSON. Nothing is unpickled.

A checkpoint is a folder `step-00001000` with `model.safetensors`, `optimizer.safetensors` and `state.json`, which
states the step and a checksum of each file. It appears under its name only when it is complete.
"""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from bangbang.errors import InputError
from bangbang.files import whole_folder

MODEL, OPTIMIZER, STATE = "model.safetensors", "optimizer.safetensors", "state.json"


class Progress(NamedTuple):
    """Where training stands, beside weights and optimiser state."""

    step: int = 0
    """Steps taken."""
    seconds: float = 0.0
    """Time spent training, over all sittings."""
    best_step: int = 0
    """Step of the best validation so far; 0 before the first."""
    best_score: float = 0.0
    validations_since_best: int = 0


def name_of(step: int) -> str:
    return f"step-{step:08d}"


def checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def optimizer_tensors(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimiser's state as `<parameter>|<entry>` → tensor."""
    return {
        f"{name}|{entry}": torch.as_tensor(value)
        for name, parameter in model.named_parameters()
        for entry, value in optimizer.state[parameter].items()
    }


def save(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, progress: Progress) -> Path:
    """Write the checkpoint of this step below `folder` and return it."""
    target = folder / name_of(progress.step)
    with whole_folder(target, replace=True) as draft:
        save_file({name: tensor.contiguous() for name, tensor in model.state_dict().items()}, draft / MODEL)
        save_file(optimizer_tensors(model, optimizer), draft / OPTIMIZER)
        sums = {name: checksum(draft / name) for name in (MODEL, OPTIMIZER)}
        (draft / STATE).write_text(json.dumps({**progress._asdict(), "sha256": sums}, indent=1) + "\n")
    return target


def read_tensors(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path}: damaged or missing ({error})") from None


def read_progress(checkpoint: Path) -> Progress:
    """The checkpoint's progress, once its files have been found whole."""
    path = checkpoint / STATE
    try:
        state: dict[str, Any] = json.loads(path.read_text("utf-8"))
        sums = state.pop("sha256")
        progress = Progress(**state)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: damaged or missing ({error})") from None
    for name in (MODEL, OPTIMIZER):
        if not (checkpoint / name).is_file() or checksum(checkpoint / name) != sums.get(name):
            raise InputError(f"{checkpoint / name}: does not match its checksum")
    return progress


def load_model(checkpoint: Path, model: nn.Module) -> None:
    """Put the checkpoint's weights into `model`; names and shapes must agree."""
    tensors = read_tensors(checkpoint / MODEL)
    for name, own in model.state_dict().items():
        if name not in tensors:
            raise InputError(f"{checkpoint / MODEL}: has no {name!r}; it belongs to another model")
        if tensors[name].shape != own.shape:
            shapes = f"{list(tensors[name].shape)}, this model {list(own.shape)}"
            raise InputError(f"{checkpoint / MODEL}: {name!r} has shape {shapes}")
    model.load_state_dict({name: tensors[name] for name in model.state_dict()})


def load_optimizer(checkpoint: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    parameters = dict(model.named_parameters())
    for key, value in read_tensors(checkpoint / OPTIMIZER).items():
        name, _, entry = key.partition("|")
        if name not in parameters:
            raise InputError(f"{checkpoint / OPTIMIZER}: has state of {name!r}, which this model has not")
        # step counters stay on the CPU in float32, as torch makes them
        device = torch.device("cpu") if value.ndim == 0 else parameters[name].device
        optimizer.state[parameters[name]][entry] = value.to(device)


def complete(folder: Path) -> list[Path]:
    """The checkpoints below `folder`, oldest first."""
    return sorted(path for path in folder.glob("step-*") if (path / STATE).is_file())


def prune(folder: Path, keep: int, best_step: int) -> None:
    """Delete all checkpoints but the newest `keep` and the best."""
    for path in complete(folder)[:-keep]:
        if path.name != name_of(best_step):
            shutil.rmtree(path)
