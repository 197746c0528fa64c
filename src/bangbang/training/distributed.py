"""The processes of a run: how they find each other, also after a restart, and what they tell each other.

torchrun's own store outlives its workers, so a restarted worker can find the addresses that dead ones left there and
fail to connect (seen with torch 2.13, `--max-restarts`). Here process 0 of each start opens a fresh store and leaves
only its address in torchrun's; the others take that address once somebody answers there. What the store remembers is
also how one launch is told from another. What processes tell each other is JSON in byte tensors, never pickled.
"""

import json
import os
import socket
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch import Tensor, nn
from torch._C._distributed_c10d import Store, TCPStore

from bangbang.errors import InputError, ReportedElsewhereError

T = TypeVar("T")


class Ranks:
    """This process among those of the run. With one process, nothing is sent and everything is its own."""

    def __init__(self, accelerator: Accelerator) -> None:
        self.rank: int = accelerator.process_index
        self.count: int = accelerator.num_processes
        self.is_main: bool = accelerator.is_main_process
        self.device: torch.device = accelerator.device

    def any(self, *flags: bool) -> list[bool]:
        """For each flag: whether it is set in any process."""
        if self.count == 1:
            return list(flags)
        shared = torch.tensor(flags, dtype=torch.int32, device=self.device)
        dist.all_reduce(shared, dist.ReduceOp.MAX)
        return [bool(flag) for flag in shared.tolist()]

    def gather(self, value: Any) -> list[Any]:
        """Every process's value, in the order of ranks; values are what JSON can hold."""
        if self.count == 1:
            return [value]
        payload = torch.frombuffer(bytearray(json.dumps(value).encode()), dtype=torch.uint8).to(self.device)
        sizes = [torch.zeros(1, dtype=torch.int64, device=self.device) for _ in range(self.count)]
        dist.all_gather(sizes, torch.tensor([len(payload)], device=self.device))
        longest = max(int(size) for size in sizes)
        padded = nn.functional.pad(payload, (0, longest - len(payload)))
        parts = [torch.empty_like(padded) for _ in range(self.count)]
        dist.all_gather(parts, padded)
        lengths = [int(size) for size in sizes]
        return [json.loads(bytes(part[:size].tolist())) for part, size in zip(parts, lengths, strict=True)]

    def from_main(self, value: Any) -> Any:
        """The main process's value in every process."""
        if self.count == 1:
            return value
        payload = json.dumps(value).encode() if self.is_main else b""
        size = torch.tensor([len(payload)], device=self.device)
        dist.broadcast(size, 0)
        content = torch.frombuffer(bytearray(payload or bytes(int(size))), dtype=torch.uint8).to(self.device)
        dist.broadcast(content, 0)
        return json.loads(bytes(content.tolist()))

    def together(self, work: Callable[[], T], on_main_only: bool = False) -> T | None:
        """Do `work` in every process, or in the main one alone; an InputError in one ends all, and is told once."""
        result, failure = None, None
        if self.is_main or not on_main_only:
            try:
                result = work()
            except InputError as error:
                failure = error
        messages = self.gather("" if failure is None else str(failure))
        first = next((rank for rank, message in enumerate(messages) if message), None)
        if first is None:
            return result
        if failure is not None and first == self.rank:
            raise failure
        raise ReportedElsewhereError(messages[first])

    def check_equal(self, **facts: str) -> None:
        """An InputError if a process differs from the main one in a fact."""
        everyones = self.gather(facts)
        for rank, others in enumerate(everyones):
            for name, fact in others.items():
                if fact != everyones[0][name]:
                    message = f"process {rank} of this run has another {name} than process 0"
                    raise InputError(message) if self.is_main else ReportedElsewhereError(message)

    def share(self, tensors: Iterable[Tensor]) -> None:
        """Give every process the main one's numbers, in place."""
        if self.count > 1:
            for tensor in tensors:
                dist.broadcast(tensor, 0)

    def share_optimizer(self, parameters: Sequence[nn.Parameter], optimizer: torch.optim.Optimizer) -> None:
        """Give every process the main one's optimiser state: only the main process has read a checkpoint."""
        if self.count == 1:
            return
        names = self.from_main([list(optimizer.state[parameter]) for parameter in parameters])
        for parameter, entries in zip(parameters, names, strict=True):
            for entry in entries:
                own = optimizer.state[parameter]
                if not self.is_main:
                    own[entry] = parameter.new_zeros(()) if entry == "step" else torch.zeros_like(parameter)
                dist.broadcast(own[entry], 0)


ADDRESS, LAUNCH = "bangbang/address", "bangbang/launch"
PATIENCE = timedelta(minutes=30)
ANSWER_SECONDS = 2.0


def join() -> None:
    """Make the process group, if torchrun started this process and nobody has made it yet."""
    other = torch.accelerator.is_available() and not torch.cuda.is_available()
    if not launched() or dist.is_initialized() or other:
        return
    rank, count = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    store = opened(launcher_store(), os.environ["MASTER_ADDR"]) if rank == 0 else found(launcher_store())
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    dist.init_process_group(backend, store=store, rank=rank, world_size=count, timeout=PATIENCE)


def leave() -> None:
    """End the process group that `join` made: threads that are left to the interpreter's end at times abort there."""
    if launched() and dist.is_initialized():
        dist.destroy_process_group()


def launched() -> bool:
    """Whether torchrun started this process and shares its store with it."""
    return os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"


def launcher_store() -> Store:
    host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    return TCPStore(host, port, is_master=False, timeout=PATIENCE)


def launch() -> str:
    """What all starts of one torchrun launch have in common, and no other launch has; nothing without torchrun.

    Not its --rdzv-id, which the next launch may have too, nor the count of restarts: an agent does not count those that
    began on another host.
    """
    return launcher_store().compare_set(LAUNCH, "", uuid.uuid4().hex).decode() if launched() else ""


def opened(launcher: Store, host: str) -> Store:
    """A store of process 0's own, its address made known."""
    store = TCPStore(host, 0, is_master=True, wait_for_workers=False, timeout=PATIENCE)
    launcher.set(ADDRESS, f"{host} {store.port}")
    return store


def found(launcher: Store) -> Store:
    """The store of this start's process 0: an address left by an earlier start has nobody behind it."""
    while True:
        host, port = launcher.get(ADDRESS).decode().split()
        try:
            socket.create_connection((host, int(port)), ANSWER_SECONDS).close()
        except OSError:
            time.sleep(0.1)
        else:
            return TCPStore(host, int(port), is_master=False, timeout=PATIENCE)
