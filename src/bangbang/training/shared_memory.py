"""The mean of gradients over the processes of one host, through memory that all of them see.

Gloo sends gradients through sockets even from a process to its neighbour. Here each process writes its own into a part
of the shared memory, adds up one stretch of everybody's, and reads the sums of all stretches. Gloo still tells when all
have come that far, and notices if one of them dies.

Shapes: P processes, S bytes for each.
"""

import mmap
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor
from torch._C._distributed_c10d import GradBucket
from torch.futures import Future

from bangbang.training.distributed import Ranks

FOLDER = Path("/dev/shm")  # files that are memory; where there is none, gloo does all
# Bytes of each process at a time, if there is room: processes should meet rarely. Containers often have 64 MB in all.
PARTS = 2**25, 2**22


class SharedMemory:
    def __init__(self, parts: Tensor, rank: int) -> None:
        """`parts` [P + 1, S] bytes: of each process, and of the result."""
        self.parts, self.rank = parts, rank
        self.waiting: list[tuple[Tensor, Future[Tensor]]] = []  # this step's buckets so far

    @classmethod
    def of(cls, ranks: Ranks, needed: int) -> "SharedMemory | None":
        """For `needed` bytes of gradients. None if there is nobody to share with, or on several hosts, on other
        devices, or where there is no room."""
        if ranks.count == 1 or ranks.device.type != "cpu":
            return None
        sizes = [(ranks.count + 1) * min(part, needed) for part in PARTS]
        found = ranks.from_main(next(filter(None, map(reserved, sizes)), None) if ranks.is_main else None)
        memory = opened(found) if found else None
        everyone_has_it = all(ranks.gather(memory is not None))
        if ranks.is_main and found:
            Path(found).unlink()  # it lives as long as a process has it, and no longer, whatever becomes of them
        return cls(memory.view(ranks.count + 1, -1), ranks.rank) if memory is not None and everyone_has_it else None

    def average_bucket(self, bucket: GradBucket) -> Future[Tensor]:
        """For DistributedDataParallel: buckets wait for the last of the step, so that processes meet rarely."""
        done: Future[Tensor] = Future()
        self.waiting.append((bucket.buffer(), done))
        if bucket.is_last():
            ready, self.waiting = self.waiting, []
            self.average([values for values, _ in ready])
            for values, future in ready:
                future.set_result(values)
        return done

    def average(self, values: Sequence[Tensor]) -> None:
        """The means over processes of some vectors of one type, in place."""
        parts = self.parts.view(values[0].dtype)
        count = len(parts) - 1
        for pieces in windows(values, parts.shape[1]):
            size = sum(map(len, pieces))
            everyones = parts[:, :size]
            for piece, own in zip(pieces, split(everyones[self.rank], pieces), strict=True):
                own.copy_(piece)
            dist.barrier()
            mine = slice(size * self.rank // count, size * (self.rank + 1) // count)
            *others, total = everyones[1:, mine]
            torch.add(everyones[0, mine], others[0], out=total)
            for other in others[1:]:
                total.add_(other)
            total.div_(count)
            dist.barrier()
            # nobody writes to the result again before everybody has come to the next barrier, that is, has read it
            for piece, mean in zip(pieces, split(everyones[-1], pieces), strict=True):
                piece.copy_(mean)


def windows(values: Sequence[Tensor], capacity: int) -> Iterator[list[Tensor]]:
    """All elements of some vectors, in order, as pieces of at most `capacity` together."""
    pieces, room = list[Tensor](), capacity
    for vector in values:
        left = vector
        while len(left):
            pieces.append(left[:room])
            left, room = left[room:], room - len(pieces[-1])
            if room == 0:
                yield pieces
                pieces, room = [], capacity
    if pieces:
        yield pieces


def split(whole: Tensor, pieces: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """A vector cut as these are."""
    return torch.split_with_sizes(whole, [len(piece) for piece in pieces])


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


def opened(name: str) -> Tensor | None:
    """The bytes of a file of memory; None if this host does not have it."""
    try:
        with Path(name).open("r+b") as file:
            return torch.frombuffer(mmap.mmap(file.fileno(), 0), dtype=torch.uint8)
    except OSError:
        return None
