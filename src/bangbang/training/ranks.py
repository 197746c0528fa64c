"""The processes of a run: what they tell each other beside gradients, as JSON in byte tensors, never pickled."""

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch import nn

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

    def share_weights(self, model: nn.Module) -> None:
        """Give every process the main one's weights."""
        if self.count > 1:
            for tensor in model.state_dict().values():
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
