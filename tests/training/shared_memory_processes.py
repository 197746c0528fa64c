"""What `test_shared_memory.py` starts with torchrun: every process ends with 0, or says what is wrong."""

import sys
from pathlib import Path

import torch
import torch.distributed as dist
from accelerate import Accelerator

from bangbang.training import shared_memory
from bangbang.training.ranks import Ranks
from bangbang.training.shared_memory import SharedMemory

folder, case = Path(sys.argv[1]), sys.argv[2]
shared_memory.FOLDER, shared_memory.PARTS = folder, (64, 8)
ranks = Ranks(Accelerator(cpu=True))
assert ranks.count == 3
if case == "elsewhere" and ranks.rank == 1:
    shared_memory.opened = lambda name: None  # as on another host
memory = SharedMemory.of(ranks, 1000)
dist.barrier()
assert list(folder.glob("*")) == [], "the file is gone"
if case == "elsewhere":
    assert memory is None
else:
    assert memory is not None
    for kind in (torch.float32, torch.float64):
        for sizes in ((1,), (2,), (3,), (16,), (3, 13), (17, 0, 100), (5, 5, 5, 5, 5)):  # the memory has 16 or 8 values
            for turn in range(5):
                noise = torch.Generator().manual_seed(100 * turn + ranks.rank)
                own = [torch.randn(size, dtype=kind, generator=noise) for size in sizes]
                expected = torch.cat(own)
                dist.all_reduce(expected)
                memory.average(own)
                torch.testing.assert_close(torch.cat(own), expected / 3)
                same = [torch.empty_like(expected) for _ in range(3)]
                dist.all_gather(same, torch.cat(own))
                assert all(torch.equal(other, torch.cat(own)) for other in same), "the same bits in every process"
print("well")
