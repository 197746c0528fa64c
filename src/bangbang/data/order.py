"""The order of training: which examples meet in which step, as a pure function of (seed, epoch, rank)."""

import numpy as np
import numpy.typing as npt

from bangbang.data.split import Split

WINDOW = 100  # batches sorted together: large enough for even lengths, small enough to keep the order random


def batches(
    split: Split, batch_size: int, seed: int, epoch: int, rank: int = 0, world: int = 1
) -> list[npt.NDArray[np.int32]]:
    """The example numbers of each step of process `rank` of `world` in this epoch.

    A global batch has `batch_size * world` examples of like length, and rank r takes every world-th of them from the
    r-th on: one process with batch 2B and two with batch B see the same global batches. The examples that do not fill
    a global batch are left out of this epoch, others in each epoch, unless there is no other batch.
    """
    rng = np.random.default_rng([seed, epoch])
    size = batch_size * world
    # 32 bits and one window at a time: an epoch of millions of examples is planned in a few dozen megabytes
    order = rng.permutation(np.arange(split.examples, dtype=np.int32))
    if len(order) <= size:
        return [order[rank::world]] if len(order) else []
    order = order[: len(order) // size * size]
    for start in range(0, len(order), WINDOW * size):
        window = order[start : start + WINDOW * size]
        # the target leads: the vocabulary layer runs once per target position
        key = (split.target_lengths[window].astype(np.int64) << 20) | split.source_lengths[window]
        order[start : start + WINDOW * size] = window[np.argsort(key, kind="stable")]
    steps = order.reshape(-1, size)
    return list(steps[rng.permutation(len(steps)), rank::world])
