"""Log-probabilities of given tokens under a linear + softmax layer, without ever keeping its [N, V] logits.

The gradient of c · log p(token) with respect to the logits is c · (onehot(token) - p). It is formed chunk of rows by
chunk of rows while the logits are at hand, so a training pass multiplies by the [V, D] weights three times (forward and
two for the gradients), not four, and what is stored between the passes is gradients of the size of the parameters.

Shapes: N positions, D features, V vocabulary.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

from bangbang.products import affine

# Logits alive at once: 2**22 float32 values are 16 MB. Every chunk reads and writes the [V, D] gradient, and products
# of few rows run at a lower rate, so a large vocabulary gets at least 192 rows at a time: at V = 50,000 and D = 512
# that took three quarters of the time of 64.
CHUNK_VALUES = 2**22
CHUNK_ROWS = 192
ENTROPIES = 16  # rows whose entropy is taken, spread evenly: a pass over so few costs nothing, one over all would


def chunk_rows(vocabulary: int) -> int:
    return max(CHUNK_ROWS, CHUNK_VALUES // vocabulary)


class Layer(NamedTuple):
    """W and b at the precision of the products, which may be lower than that of the parameters (autocast).

    What is summed over the vocabulary is summed in 32 bits at least, whatever the products' precision.
    """

    weight: Tensor  # [V, D]
    bias: Tensor  # [V]

    @classmethod
    def of(cls, weight: Tensor, bias: Tensor) -> "Layer":
        kind = weight.device.type
        lowered = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else weight.dtype
        precise = torch.promote_types(weight.dtype, torch.float32)
        return cls(weight.to(lowered), bias.to(precise))

    def buffer(self, rows: int) -> Tensor:
        return self.bias.new_empty(rows, len(self.weight))

    def logits(self, features: Tensor, out: Tensor) -> Tensor:
        """W f + b of each row, in `out` [n, V]."""
        with torch.autocast(features.device.type, enabled=False):  # what is lowered is lowered here
            features = features.to(self.weight.dtype)
            if out.dtype == features.dtype:
                return affine(features, self.weight, self.bias, out)
            return out.copy_(torch.mm(features, self.weight.t())).add_(self.bias)


class Gradients:
    """Sums, over chunks of rows, the gradients of Σ c_i log p_i with respect to features, weight and bias."""

    def __init__(self, features: Tensor, weight: Tensor, bias: Tensor) -> None:
        self.features = torch.empty_like(features)
        self.weight = torch.empty_like(weight)
        self.bias = torch.empty_like(bias)

    def add(self, rows: slice, p: Tensor, features: Tensor, layer: Layer, tokens: Tensor, c: Tensor) -> None:
        """One chunk: p [n, V], features [n, D], tokens and coefficients [n]; onehot(token) touches single rows only."""
        keep = 0.0 if rows.start == 0 else 1.0  # the first chunk overwrites: no pass to fill with zeros
        self.bias.addmv_(p.t().to(self.bias.dtype), c.to(self.bias.dtype), beta=keep, alpha=-1)
        self.bias.index_add_(0, tokens, c.to(self.bias.dtype))
        weight, p = layer.weight, p.to(layer.weight.dtype)
        scaled = features * c.unsqueeze(1).to(features.dtype)
        apart = weight.index_select(0, tokens) - p @ weight
        self.features[rows] = apart.to(features.dtype) * c.unsqueeze(1).to(features.dtype)
        if p.dtype == self.weight.dtype:
            self.weight.addmm_(p.t(), scaled, beta=keep, alpha=-1)
        else:
            if not keep:
                self.weight.zero_()
            self.weight.sub_(p.t() @ scaled.to(p.dtype))
        self.weight.index_add_(0, tokens, scaled.to(self.weight.dtype))


def row_log_prob(layer: Layer, features: Tensor, tokens: Tensor, out: Tensor) -> Tensor:
    """log p(token) [n] of each row; leaves the softmax p in `out` [n, V].

    The logarithm of p itself is as exact as any, and needs no further pass over the vocabulary, unless p is so small
    that it has lost digits.
    """
    p = torch.softmax(layer.logits(features, out), 1, out=out)
    log_p = p.gather(1, tokens.unsqueeze(1)).squeeze(1).log()
    rare = (log_p < math.log(torch.finfo(p.dtype).tiny)).nonzero().squeeze(1)
    if len(rare):
        logits = layer.logits(features[rare], layer.buffer(len(rare)))
        log_p[rare] = logits.log_softmax(1).gather(1, tokens[rare].unsqueeze(1)).squeeze(1)
    return log_p


class Scored(NamedTuple):
    log_prob: Tensor  # [N] c · log p(token)
    entropies: Tensor  # [E] of p in nats, at up to `ENTROPIES` rows; no gradient


class _WeightedLogProb(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx, features: Tensor, weight: Tensor, bias: Tensor, tokens: Tensor, c: Tensor
    ) -> tuple[Tensor, Tensor]:
        needed = any(ctx.needs_input_grad)  # type: ignore[attr-defined]
        log_p, entropies, gradients = run_chunks(features, weight, bias, tokens, c if needed else None)
        ctx.save_for_backward(features, weight, bias, tokens, c)
        ctx.mark_non_differentiable(entropies)
        ctx.ready = gradients  # type: ignore[attr-defined]
        return log_p * c, entropies

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, upstream: Tensor, no_upstream: Tensor) -> tuple[Tensor | None, ...]:
        features, weight, bias, tokens, c = ctx.saved_tensors  # type: ignore[attr-defined]
        ready: Gradients | None = ctx.ready  # type: ignore[attr-defined]
        ctx.ready = None  # type: ignore[attr-defined]
        scale = upstream[:1].sum()
        if ready is not None and bool((upstream == scale).all()):
            if scale != 1:  # a sum, which training takes, saves a pass over [V, D]
                for gradient in (ready.features, ready.weight, ready.bias):
                    gradient.mul_(scale)
            return ready.features, ready.weight, ready.bias, None, None
        # not a plain sum or mean of the rows, or a second backward pass: once more, with the rows' own weights
        *_, gradients = run_chunks(features, weight, bias, tokens, c * upstream)
        assert gradients is not None
        return gradients.features, gradients.weight, gradients.bias, None, None


def run_chunks(
    features: Tensor, weight: Tensor, bias: Tensor, tokens: Tensor, c: Tensor | None
) -> tuple[Tensor, Tensor, Gradients | None]:
    """log p(token) of each row, the entropies of some, and the gradients of Σ c log p where c is given."""
    layer = Layer.of(weight, bias)
    gradients = None if c is None else Gradients(features, weight, bias)
    log_p = layer.bias.new_empty(len(features))
    chunks = max(1, math.ceil(len(features) / chunk_rows(len(weight))))
    size = max(1, math.ceil(len(features) / chunks))  # even chunks: a small last one would multiply at a lower rate
    buffer = layer.buffer(size)
    stride = max(1, math.ceil(len(features) / ENTROPIES))
    entropies: list[Tensor] = []
    for start in range(0, max(1, len(features)), size):  # at least once: no rows give gradients of zero
        rows = slice(start, start + size)
        p = buffer[: len(features[rows])]  # [n, V]
        log_p[rows] = row_log_prob(layer, features[rows], tokens[rows], p)
        entropies.append(torch.special.entr(p[-start % stride :: stride]).sum(1))  # rows 0, stride, 2 · stride, ...
        if gradients is not None and c is not None:
            gradients.add(rows, p, features[rows], layer, tokens[rows], c[rows])
    return log_p, torch.cat(entropies), gradients


def weighted_log_prob(features: Tensor, weight: Tensor, bias: Tensor, tokens: Tensor, c: Tensor) -> Scored:
    """c_i · log softmax(W f_i + b)[token_i] for each row i; gradients reach features, weight and bias.

    The gradient is exact for any use of the result; it costs least where the rows are summed or averaged, because the
    coefficients c were known when the logits were.
    """
    return Scored(*_WeightedLogProb.apply(features, weight, bias, tokens, c))  # type: ignore[no-untyped-call]
