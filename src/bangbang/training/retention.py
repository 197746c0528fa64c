"""The checkpoints of a run: which are there, which are whole, which are kept."""

import re
from pathlib import Path
from typing import NamedTuple

from bangbang.errors import InputError
from bangbang.files import move, remove, remove_folder
from bangbang.training.checkpoint import CheckpointState, name_of, read_state


class Newest(NamedTuple):
    checkpoint: Path
    state: CheckpointState
    damaged: list[str]
    """What is wrong with each newer one."""


def listed(folder: Path) -> list[Path]:
    """The checkpoints below `folder`, oldest first, whole or not. A link to a folder is none."""
    named = (path for path in folder.glob("step-*") if re.fullmatch(r"step-\d{8,15}", path.name))
    return sorted((path for path in named if path.is_dir() and not path.is_symlink()), key=step_of)


def step_of(checkpoint: Path) -> int:
    return int(checkpoint.name.removeprefix("step-"))


def newest_whole(folder: Path) -> Newest | None:
    """The newest checkpoint that is whole; None where there is none at all, an InputError where all are damaged."""
    damaged: list[str] = []
    found = listed(folder)
    for checkpoint in reversed(found):
        try:
            return Newest(checkpoint, read_state(checkpoint), damaged)
        except InputError as error:
            damaged.append(str(error))
    if found:
        raise InputError(f"{folder}: every checkpoint is damaged: {'; '.join(damaged)}")
    return None


def tidy(folder: Path, newest: Path) -> None:
    """Before going on from `newest`: set aside the newer ones, all damaged, and remove what a killed process left."""
    for path in listed(folder):
        if step_of(path) > step_of(newest):
            aside = folder / f"damaged-{path.name}"
            remove_folder(aside)
            move(path, aside)
    sweep(folder)


def sweep(folder: Path) -> None:
    """Remove drafts and half-removed checkpoints that a killed process left."""
    for path in (*folder.glob(".step-*"), *folder.glob(".start-*")):
        remove(path)


def prune(folder: Path, keep: int, best_step: int) -> None:
    """Delete all checkpoints but the newest `keep` and the best."""
    for path in listed(folder)[:-keep]:
        if path.name != name_of(best_step):
            remove_folder(path)
