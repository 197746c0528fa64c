"""What `test_shared_memory.py` starts with torchrun: every process ends with 0, or says what is wrong."""

import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch.nn.parallel import DistributedDataParallel

from bangbang.training import shared_memory
from bangbang.training.distributed import Ranks
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

    def gradients(shared: SharedMemory | None) -> torch.Tensor:
        """Of a model of several buckets; those of a second step, whose buckets are other ones than the first step's."""
        torch.manual_seed(0)
        layers = torch.nn.Sequential(torch.nn.Linear(300, 1000), torch.nn.Linear(1000, 300))
        model = DistributedDataParallel(layers, bucket_cap_mb=1, gradient_as_bucket_view=True)
        buckets: list[int] = []
        if shared is not None:

            def average(memory: SharedMemory, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
                buckets.append(bucket.index())
                return memory.average_bucket(bucket)

            model.register_comm_hook(shared, average)
        for step in range(2):
            model.zero_grad()
            model(torch.randn(5, 300, generator=torch.Generator().manual_seed(10 * step + ranks.rank))).sum().backward()
        assert shared is None or (max(buckets) > 0 and not shared.waiting)
        return torch.cat([parameter.grad.flatten() for parameter in model.parameters()])

    shared_memory.PARTS = (2**20,)
    torch.testing.assert_close(gradients(SharedMemory.of(ranks, 2**21)), gradients(None))
dist.barrier()
time.sleep(1)  # a process that ends takes its sockets along: not while another may still wait in the barrier
print("well")
