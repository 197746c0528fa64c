"""The vocabulary layer of our own models.

Shapes: D features, V vocabulary.

One matrix may serve the output layer and the embeddings, with one gradient. Autograd would add each lookup's gradient
to the output layer's by making a new [V, D] matrix, once per lookup. Here every use goes through one node of the graph:
lookups leave the rows of their gradients with it, and it adds them, in place, into what the output layer gave.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx, once_differentiable
from torch.nn import functional as F

from bangbang.heads.linear_head import LinearHead
from bangbang.heads.output_layer import OutputLayer
from bangbang.symbols import BOS, PAD

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


class VocabularyHead(LinearHead, nn.Module):
    """softmax(W f + b) over the vocabulary. `weight` [V, D] may serve as the model's embedding matrix too (`embed`).

    `<pad>` and `<s>` are forbidden, so that p is a distribution over what a sampler may draw. What stands at their
    places of the bias does not matter.
    """

    forbidden: Tensor

    def __init__(self, vocabulary_size: int, features: int) -> None:
        super().__init__()
        # small enough that the first distributions are nearly uniform, large enough for embeddings to differ
        self.weight = nn.Parameter(torch.empty(vocabulary_size, features).normal_(std=features**-0.5))
        self.bias = nn.Parameter(torch.zeros(vocabulary_size))
        self.register_buffer("forbidden", torch.tensor([PAD, BOS]), persistent=False)
        self.tied: Tied | None = None

    @property
    def size(self) -> int:
        return len(self.weight)

    def layer(self) -> OutputLayer:
        return OutputLayer(self.weight, self.bias, forbidden=self.forbidden)

    def scored_layer(self) -> OutputLayer:
        return self.layer() if self.tied is None else self.layer()._replace(weight=self.tied.weight)

    def begin(self) -> None:
        """A new forward pass: what it looks up and what it scores will share one gradient of `weight`."""
        self.tied = Tied(self.weight) if torch.is_grad_enabled() and self.weight.requires_grad else None

    def embed(self, tokens: Tensor) -> Tensor:
        """The rows of `weight` for tokens of any shape."""
        if self.tied is None or not torch.is_grad_enabled():
            return F.embedding(tokens, self.weight)
        return self.tied.embed(tokens)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "tied": None}  # a copy of the layer begins outside any forward pass
