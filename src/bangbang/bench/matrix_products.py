"""The matrix products of a piece of code, alone: recorded as they happen, then run again with nothing else between.

Their time is a bound for the code that contains them: it cannot take less, at the same shapes on the same machine.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

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


class Recorder(TorchDispatchMode):
    """Notes the shapes and strides of the factors of every matrix product."""

    def __init__(self) -> None:
        super().__init__()
        self.products: list[tuple[tuple[torch.Size, tuple[int, ...]], ...]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in FACTORS:
            factors: list[Tensor] = [args[place] for place in FACTORS[func]]
            self.products.append(tuple((factor.shape, factor.stride()) for factor in factors))
        return func(*args, **(kwargs or {}))


def record(code: Callable[[], object]) -> Callable[[], None]:
    """Runs `code` once and returns a function that runs its matrix products alone, into memory made beforehand."""
    with Recorder() as recorder:
        code()
    buffers: dict[Any, Tensor] = {}

    def buffer(shape: torch.Size, stride: tuple[int, ...]) -> Tensor:
        key = (shape, stride)
        if key not in buffers:
            buffers[key] = torch.randn(tuple(shape)).as_strided(shape, stride) if dense(shape, stride) else torch.randn(shape)
        return buffers[key]

    calls = []
    for left, right in recorder.products:
        a, b = buffer(*left), buffer(*right)
        product = torch.matmul(a, b)
        calls.append((a, b, buffer(product.shape, product.stride())))

    def replay() -> None:
        for a, b, out in calls:
            torch.matmul(a, b, out=out)

    return replay


def dense(shape: torch.Size, stride: tuple[int, ...]) -> bool:
    """Whether these strides stay inside a block of as many values as the shape has (a transposed view does)."""
    last = sum((size - 1) * step for size, step in zip(shape, stride, strict=True))
    return last < shape.numel()
