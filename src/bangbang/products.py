"""Products of a few rows with a large matrix, the way round that the machine does well.

Samplers multiply, at every step, the rows that are still open with a weight matrix. MKL, the library of matrix products
on CPUs, runs x Wᵀ with 9 to 63 rows in one thread whatever the number of threads; W xᵀ, the same numbers, runs in all
of them and is two to three times as fast.

Shapes: n rows, K inputs, M outputs.
"""

import torch
from torch import Tensor

FEW = range(16, 57)  # rows: with fewer or more, both ways take the same time


def few_rows(rows: Tensor) -> bool:
    return len(rows) in FEW and rows.device.type == "cpu" and torch.get_num_threads() > 1


def affine(rows: Tensor, weight: Tensor, bias: Tensor, out: Tensor) -> Tensor:
    """W x + b of each row x, in `out`: [n, K], [M, K], [M] → [n, M]."""
    if few_rows(rows):
        return torch.add(torch.mm(weight, rows.t()).t(), bias, out=out)
    return torch.addmm(bias, rows, weight.t(), out=out)


def add_product(total: Tensor, rows: Tensor, weight: Tensor) -> Tensor:
    """Adds W x of each row x to `total` [n, M], in place."""
    if few_rows(rows):
        return total.add_(torch.mm(weight, rows.t()).t())
    return total.addmm_(rows, weight.t())
