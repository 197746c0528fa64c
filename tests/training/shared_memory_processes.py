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
shared_memory.FOLDER, shared_memory.PART = folder, 64
ranks = Ranks(Accelerator(cpu=True))
assert ranks.count == 3
if case == "elsewhere" and ranks.rank == 1:
    shared_memory.opened = lambda name, size: None  # as on another host
memory = SharedMemory.of(ranks)
dist.barrier()
assert list(folder.glob("*")) == [], "the file is gone"
if case == "elsewhere":
    assert memory is None
else:
    assert memory is not None
    for kind in (torch.float32, torch.float64):
        for size in (1, 2, 3, 16, 17, 100):  # fewer than processes; one part; several, the last of them not whole
            for turn in range(5):
                own = torch.randn(size, dtype=kind, generator=torch.Generator().manual_seed(100 * turn + ranks.rank))
                expected = own.clone()
                dist.all_reduce(expected)
                result = memory.average(own)
                assert result is own
                torch.testing.assert_close(own, expected / 3)
                same = [torch.empty_like(own) for _ in range(3)]
                dist.all_gather(same, own)
                assert all(torch.equal(other, own) for other in same), "the same bits in every process"
print("well")
