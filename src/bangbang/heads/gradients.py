"""The gradients of an output layer's scores, summed over chunks of rows while their logits are at hand.

Shapes: n rows of a chunk, N rows in all, D features, V vocabulary.
"""

import torch
from torch import Tensor

from bangbang.heads.output_layer import OutputLayer


class Gradients:
    """With respect to features, weight and bias: those of them that somebody needs, None for the others."""

    def __init__(self, features: Tensor, layer: OutputLayer, needed: tuple[bool, bool, bool]) -> None:
        weight, bias = layer.weight, layer.bias
        self.features = torch.empty_like(features) if needed[0] else None
        # sums over chunks are rounded to the parameters' precision once, at the end
        self.weight = torch.empty_like(weight, dtype=layer.precision) if needed[1] else None
        self.bias = torch.empty_like(bias, dtype=layer.precision) if bias is not None and needed[2] else None

    def add_tokens(
        self, rows: slice, p: Tensor, features: Tensor, layer: OutputLayer, token: Tensor, c: Tensor
    ) -> None:
        """Of c · log p(token), tokens and coefficients [n]: c · (onehot(token) - p) with respect to the logits.

        p [n, V] stays as it is, since onehot(token) touches single rows of W only.
        """
        keep = 0.0 if rows.start == 0 else 1.0  # the first chunk overwrites: no pass to fill with zeros
        if self.bias is not None:
            self.bias.addmv_(p.t().to(self.bias.dtype), c.to(self.bias.dtype), beta=keep, alpha=-1)
            self.bias.index_add_(0, token, c.to(self.bias.dtype))
        p = p.to(layer.weight.dtype)
        if self.features is not None:
            apart = layer.weight.index_select(0, token) - p @ layer.weight
            self.features[rows] = apart.to(features.dtype) * c.unsqueeze(1).to(features.dtype)
        if self.weight is not None:
            scaled = features * c.unsqueeze(1).to(features.dtype)
            self._add_product(p, scaled, keep, -1)
            self.weight.index_add_(0, token, scaled.to(self.weight.dtype))

    def add_dense(self, rows: slice, g: Tensor, features: Tensor, layer: OutputLayer) -> None:
        """Of scores whose gradient with respect to W f + b is g [n, V]."""
        keep = 0.0 if rows.start == 0 else 1.0
        if self.bias is not None:
            self.bias.addmv_(g.t().to(self.bias.dtype), self.bias.new_ones(len(g)), beta=keep)
        g = g.to(layer.weight.dtype)
        if self.features is not None:
            self.features[rows] = (g @ layer.weight).to(features.dtype)
        if self.weight is not None:
            self._add_product(g, features, keep, 1)

    def _add_product(self, left: Tensor, right: Tensor, keep: float, sign: int) -> None:
        assert self.weight is not None
        if left.dtype == right.dtype == self.weight.dtype:
            self.weight.addmm_(left.t(), right, beta=keep, alpha=sign)
        else:
            if not keep:
                self.weight.zero_()
            self.weight.add_(left.t() @ right.to(left.dtype), alpha=sign)

    def scaled_(self, factor: Tensor) -> "Gradients":
        """All of them times a number, in place."""
        if factor != 1:  # a sum, which training takes, saves a pass over [V, D]
            for gradient in (self.features, self.weight, self.bias):
                if gradient is not None:
                    gradient.mul_(factor)
        return self

    def for_parameters(self, weight: Tensor, bias: Tensor | None) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """The gradients at the parameters' own precision."""
        dweight = None if self.weight is None else self.weight.to(weight.dtype)
        dbias = None if self.bias is None or bias is None else self.bias.to(bias.dtype)
        return self.features, dweight, dbias
