"""The mean of gradients over the processes of one host, through memory that all of them see.

Gloo sends gradients through sockets even from a process to its neighbour. Here each process writes its own into a part
of the shared memory, adds up one stretch of everybody's, and reads the sums of all stretches. Gloo still tells when all
have come that far, and notices if one of them dies.

Shapes: P processes, N values.
"""

import mmap
import os
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor
from torch._C._distributed_c10d import GradBucket

from bangbang.training.ranks import Ranks

FOLDER = Path("/dev/shm")  # files that are memory; where there is none, gloo does all
# Bytes of each process at a time: few enough for containers, which often have 64 MB in all, enough to meet rarely.
PART = 2**23


class SharedMemory:
    def __init__(self, parts: Tensor, rank: int) -> None:
        """`parts` [P + 1, PART] bytes: of each process, and of the result."""
        self.parts, self.rank = parts, rank

    @classmethod
    def of(cls, ranks: Ranks) -> "SharedMemory | None":
        """None if there is nobody to share with, or on several hosts, on other devices, or where there is no room."""
        if ranks.count == 1 or ranks.device.type != "cpu":
            return None
        size = (ranks.count + 1) * PART
        name = ranks.from_main(reserved(size) if ranks.is_main else None)
        parts = opened(name, size) if name else None
        everyone_has_it = all(ranks.gather(parts is not None))
        if ranks.is_main and name:
            Path(name).unlink()  # it lives as long as a process has it, and no longer, whatever becomes of them
        return cls(parts.view(-1, PART), ranks.rank) if parts is not None and everyone_has_it else None

    def average(self, values: Tensor) -> Tensor:
        """The mean over processes of `values` [N], in place."""
        parts = self.parts.view(values.dtype)
        for start in range(0, len(values), parts.shape[1]):
            some = values[start : start + parts.shape[1]]
            everyones = parts[:, : len(some)]
            everyones[self.rank] = some
            dist.barrier()
            count = len(parts) - 1
            mine = slice(len(some) * self.rank // count, len(some) * (self.rank + 1) // count)
            *others, total = everyones[1:, mine]
            torch.add(everyones[0, mine], others[0], out=total)
            for other in others[1:]:
                total.add_(other)
            total.div_(count)
            dist.barrier()
            # nobody writes to the result again before everybody has come to the next barrier, that is, has read it
            some.copy_(everyones[-1])
        return values


def reserved(size: int) -> str | None:
    """A new file of memory with room for `size` bytes, which would else be missed only when they are written."""
    try:
        handle, name = tempfile.mkstemp(prefix="bangbang-", dir=FOLDER)
    except OSError:
        return None
    try:
        os.posix_fallocate(handle, 0, size)
    except OSError:
        Path(name).unlink()
        return None
    finally:
        os.close(handle)
    return name


def opened(name: str, size: int) -> Tensor | None:
    """The bytes of a file of memory; None if this host does not have it."""
    try:
        with Path(name).open("r+b") as file:
            return torch.frombuffer(mmap.mmap(file.fileno(), size), dtype=torch.uint8)
    except OSError:
        return None


def average_bucket(memory: SharedMemory, bucket: GradBucket) -> torch.futures.Future[Tensor]:
    """A communication hook of DistributedDataParallel."""
    done: torch.futures.Future[Tensor] = torch.futures.Future()
    done.set_result(memory.average(bucket.buffer()))
    return done
