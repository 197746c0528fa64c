"""One row of the table of edit distances."""

import torch
from torch import Tensor


def edit_row(row: Tensor, differs: Tensor) -> Tensor:
    """D(z v, y_{1:j}) for all j from D(z, y_{1:j}), given where y_j ≠ v: [..., T + 1], [..., T] -> [..., T + 1]

    D'(j) = min(D(j) + 1, D(j-1) + [y_j ≠ v], D'(j-1) + 1). The last of the three chains from left to right, which is
    a running minimum of D' (j) - j.
    """
    start = (row[..., :1] + 1).expand(*differs.shape[:-1], 1)
    without_insertion = torch.minimum(row[..., 1:] + 1, row[..., :-1] + differs)
    position = torch.arange(row.shape[-1], device=row.device)
    return (torch.cat([start, without_insertion], dim=-1) - position).cummin(-1).values + position
