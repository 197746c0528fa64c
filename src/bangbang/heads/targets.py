"""What is scored at a position: one token, weighted tokens or a set of tokens.

Shapes: n rows of a chunk, K tokens per row, D features, V vocabulary.

Their gradients are summed over chunks of rows while the chunk's logits are at hand (n rows of a chunk).
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from bangbang.heads.output_layer import OutputLayer


class Targets(NamedTuple):
    """What is scored at each position. -1 is no token. A coefficient of 0 means that nothing is scored there."""

    tokens: Tensor  # [N], or [N, K]
    c: Tensor  # [N]; for weighted tokens [N, K]
    as_set: bool
    smoothing: float = 0.0

    def rows(self, rows: slice) -> "Targets":
        return self._replace(tokens=self.tokens[rows], c=self.c[rows])


def taken(values: Tensor, tokens: Tensor, otherwise: float) -> Tensor:
    """values [n, V] at tokens [n, K], and `otherwise` where there is no token."""
    return values.gather(1, tokens.clamp(min=0)).masked_fill_(tokens < 0, otherwise)


def softmax_(layer: OutputLayer, logits: Tensor, with_means: bool) -> Tensor | None:
    """p in place of the logits [n, V]; if asked for, the mean log p of the tokens that can be generated. [n]

    The likeliest token's logit and p give log Σ exp without a sum.
    """
    below = layer.mean_logits(logits) - logits.amax(1) if with_means else None
    p = torch.softmax(logits, 1, out=logits)
    return None if below is None else below + p.amax(1).log()


def token_log_probs(layer: OutputLayer, features: Tensor, tokens: Tensor, c: Tensor, p: Tensor) -> Tensor:
    """log p of tokens [n, K], from the softmax p [n, V].

    The logarithm of p itself is as exact as any, and needs no further pass over the vocabulary, unless p is so small
    that it has lost digits.
    """
    log_p = taken(p, tokens, 0.0).log()
    rare = ((log_p < math.log(torch.finfo(p.dtype).tiny)) & (c != 0)).any(1).nonzero().squeeze(1)
    if len(rare):
        logits = layer.chunk_logits(features[rare], layer.buffer(len(rare)))
        log_p[rare] = taken(logits.log_softmax(1), tokens[rare], -torch.inf)
    return log_p


def set_log_probs(layer: OutputLayer, features: Tensor, tokens: Tensor, c: Tensor, p: Tensor) -> tuple[Tensor, Tensor]:
    """log P [n] of sets of tokens [n, K], and each token's share p(token_k)/P [n, K], from the softmax p [n, V]."""
    each = taken(p, tokens, 0.0)
    total = each.sum(1)
    log_p, shares = total.log(), each / total.unsqueeze(1)
    rare = ((log_p < math.log(torch.finfo(p.dtype).tiny)) & (c != 0)).nonzero().squeeze(1)
    if len(rare):
        logits = layer.chunk_logits(features[rare], layer.buffer(len(rare)))
        each = taken(logits.log_softmax(1), tokens[rare], -torch.inf)
        log_p[rare], shares[rare] = each.logsumexp(1), each.softmax(1)
    return log_p, shares.masked_fill_((c == 0).unsqueeze(1), 0.0)


def logit_gradients_(
    p: Tensor, slopes: Tensor | None, layer: OutputLayer, tokens: Tensor, a: Tensor, total: Tensor, smoothing: float
) -> Tensor:
    """scale · softcap' · ((1-ε) Σ_k a_k onehot(token_k) + ε/M total - total · p) of each row, in place of p [n, V].

    ε/M, by which targets are smoothed, is for the M tokens that can be generated.
    """
    g = p.mul_(-total.unsqueeze(1).to(p.dtype))
    if smoothing:
        a = (1 - smoothing) * a
        g.add_(total.unsqueeze(1).to(p.dtype), alpha=smoothing / layer.possible)
        if layer.forbidden is not None:
            g.index_fill_(1, layer.forbidden, 0.0)
    g.scatter_add_(1, tokens.clamp(min=0), a.to(p.dtype))
    if slopes is not None:
        g.mul_(slopes)
    return g if layer.scale == 1 else g.mul_(layer.scale)


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
