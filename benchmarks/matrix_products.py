"""The matrix products of a piece of code, alone: recorded as they happen, then run again with nothing else between.

Their time is a bound for the code that contains them: it cannot take less, at the same shapes on the same machine. Both
are timed turn by turn, so that a noisy machine disturbs all alike.
"""

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from bangbang.products import onednn_linear

aten = torch.ops.aten
# operation -> where its two factors stand among the arguments
FACTORS = {
    aten.mm.default: (0, 1),
    aten.mm.out: (0, 1),
    aten.bmm.default: (0, 1),
    aten.bmm.out: (0, 1),
    aten.addmm.default: (1, 2),
    aten.addmm.out: (1, 2),
    aten.addmm_.default: (1, 2),
    aten.baddbmm.default: (1, 2),
    aten.baddbmm.out: (1, 2),
    aten.baddbmm_.default: (1, 2),
    aten.mv.default: (0, 1),
    aten.addmv.default: (1, 2),
    aten.addmv_.default: (1, 2),
}


class Place(NamedTuple):
    """Where a factor or a product lay in memory."""

    address: int
    shape: torch.Size
    stride: tuple[int, ...]

    @classmethod
    def of(cls, tensor: Tensor) -> "Place":
        return cls(tensor.data_ptr(), tensor.shape, tensor.stride())

    def dense(self) -> Tensor:
        """Random numbers with this shape and order of dimensions in memory, without gaps."""
        order = sorted(range(len(self.shape)), key=lambda dim: -self.stride[dim])
        return torch.randn([self.shape[dim] for dim in order]).permute(*(order.index(dim) for dim in range(len(order))))


class Product(NamedTuple):
    left: Place
    right: Place  # transposed, if by oneDNN, as F.linear has it
    out: Place
    by_onednn: bool


class Recorder(TorchDispatchMode):
    """Notes where the factors and the result of every matrix product lie."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.products: list[Product] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        by_onednn = onednn_linear is not None and func is onednn_linear.default
        if by_onednn or func in FACTORS:
            left, right = (args[place] for place in ((0, 1) if by_onednn else FACTORS[func]))
            self.products.append(Product(Place.of(left), Place.of(right), Place.of(result), by_onednn))
        return result


class Products:
    """The matrix products of a piece of code: called, they run alone, into memory made beforehand.

    What shared memory in the code shares it again (weights that every time step reads), and what did not does not, so
    the products find their factors in the caches about as the code itself does. But all lie densely: gaps between rows
    are the code's own doing, and no part of the bound.
    """

    def __init__(self, recorded: list[Product]) -> None:
        buffers = {place: place.dense() for place in {place for product in recorded for place in product[:3]}}
        self.calls = [
            (buffers[left], buffers[right], buffers[out], by_onednn) for left, right, out, by_onednn in recorded
        ]
        # for each element of the result as many multiplications and additions as the left factor has columns
        self.flops = sum(2 * product.out.shape.numel() * product.left.shape[-1] for product in recorded)

    def __call__(self) -> None:
        for left, right, out, by_onednn in self.calls:
            if by_onednn and onednn_linear is not None:
                onednn_linear(left, right, None, "none", [], "")  # it has no way to write into memory made beforehand
            else:
                torch.matmul(left, right, out=out)


def record(code: Callable[[], object]) -> Products:
    """Runs `code` once and notes its matrix products."""
    with Recorder() as recorder:
        code()
    return Products(recorder.products)


def medians(contenders: Mapping[str, Callable[[], object]], repeats: int, warmup: int = 2) -> dict[str, float]:
    """Median seconds of each contender over `repeats` rounds in which each runs once."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(warmup + repeats):
        for name, code in contenders.items():
            began = time.perf_counter()
            code()
            if turn >= warmup:
                times[name].append(time.perf_counter() - began)
    return {name: statistics.median(each) for name, each in times.items()}
