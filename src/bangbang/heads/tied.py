"""One matrix for the output layer and for embeddings, with one gradient.

Autograd would add each lookup's gradient to the output layer's by making a new [V, D] matrix, once per lookup. Here
every use goes through one node of the graph: lookups leave the rows of their gradients with it, and it adds them, in
place, into the gradient that the output layer gave.

Shapes: V vocabulary, D features, N tokens.
"""

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

Rows = list[tuple[Tensor, Tensor]]  # tokens [N] and the gradients [N, D] of their vectors


class _Shared(torch.autograd.Function):
    """The matrix itself. Its backward runs after that of every use."""

    @staticmethod
    def forward(ctx: FunctionCtx, weight: Tensor, rows: Rows) -> Tensor:
        ctx.rows = rows  # type: ignore[attr-defined]
        return weight.data  # not a view: the optimiser may change the weights while this tensor is alive

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, gradient: Tensor) -> tuple[Tensor, None]:
        rows: Rows = ctx.rows  # type: ignore[attr-defined]
        for tokens, vectors in rows:
            gradient.index_add_(0, tokens, vectors)
        rows.clear()
        return gradient, None


class _Lookup(torch.autograd.Function):
    """Rows of the matrix. Its gradient goes to the shared node's list, not through the graph."""

    @staticmethod
    def forward(ctx: FunctionCtx, weight: Tensor, tokens: Tensor, rows: Rows) -> Tensor:
        ctx.save_for_backward(tokens)
        ctx.rows = rows  # type: ignore[attr-defined]
        return torch.nn.functional.embedding(tokens, weight)

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, gradient: Tensor) -> tuple[None, None, None]:
        (tokens,) = ctx.saved_tensors  # type: ignore[attr-defined]
        ctx.rows.append((tokens.flatten(), gradient.reshape(-1, gradient.shape[-1])))  # type: ignore[attr-defined]
        return None, None, None


class Tied:
    """The uses of a weight matrix within one forward pass."""

    def __init__(self, weight: Tensor) -> None:
        self.rows: Rows = []
        self.weight: Tensor = _Shared.apply(weight, self.rows)  # type: ignore[no-untyped-call]  # [V, D]

    def embed(self, tokens: Tensor) -> Tensor:
        """The vectors of `tokens`: any shape → that shape and D."""
        vectors: Tensor = _Lookup.apply(self.weight, tokens, self.rows)  # type: ignore[no-untyped-call]
        return vectors
