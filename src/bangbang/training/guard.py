"""Steps whose loss or gradient is not finite: they change nothing, are counted, and end a run in time."""

import torch
from torch import Tensor

from bangbang.errors import InputError
from bangbang.training.checkpoint import Progress


def is_finite(*values: Tensor) -> bool:
    """Whether all these numbers are finite; in every process alike, since losses and gradients were reduced."""
    return bool(torch.isfinite(torch.stack([value.detach().float() for value in values])).all())


def counted(progress: Progress, finite: bool) -> Progress:
    """Progress with this step counted as good or as skipped."""
    if finite:
        return progress._replace(skipped_in_a_row=0)
    return progress._replace(skipped=progress.skipped + 1, skipped_in_a_row=progress.skipped_in_a_row + 1)


def check(progress: Progress, limit: int, folder: object) -> None:
    """An InputError after `limit` skipped steps in a row."""
    if progress.skipped_in_a_row >= limit:
        raise InputError(
            f"step {progress.step}: the loss or its gradient was not finite in {limit} steps in a row, so training "
            f"stops; checkpoints of {folder} are as they were; try a lower optimizer.learning_rate or clip_norm"
        )
