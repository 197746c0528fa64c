"""A linear output layer as a description: what the vocabulary layer computes with, whoever owns the weights.

    logits = softcap(scale · (W f + b))        softcap(x) = cap · tanh(x / cap), or x without a cap

Forbidden tokens have a logit of -inf: their probability is exactly 0, and no gradient reaches their rows. The scale
multiplies the bias too, as in models that scale their logits. A model that scales its features alone (T5) gives
features that are scaled already.

Shapes: N positions, n of them in a chunk, K tokens per position, D features, V vocabulary, F forbidden tokens.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from bangbang.products import affine

# Logits alive at once: 2**22 float32 values are 16 MB. Every chunk reads and writes the [V, D] gradient, and products
# of few rows run at a lower rate, so a large vocabulary gets at least 192 rows at a time: at V = 50,000 and D = 512
# that took three quarters of the time of 64.
CHUNK_VALUES = 2**22
CHUNK_ROWS = 192


def chunk_rows(vocabulary: int) -> int:
    return max(CHUNK_ROWS, CHUNK_VALUES // vocabulary)


class OutputLayer(NamedTuple):
    """In all that takes tokens, -1 names no token at all: its probability is 0."""

    weight: Tensor  # [V, D]
    bias: Tensor | None = None  # [V]
    scale: float = 1.0
    cap: float | None = None
    forbidden: Tensor | None = None  # [F] each once

    @property
    def precision(self) -> torch.dtype:
        """Of what is summed over the vocabulary: 32 bits at least, whatever the products' precision."""
        return torch.promote_types(self.weight.dtype, torch.float32)

    def for_products(self) -> "OutputLayer":
        """W at the precision of the products, which autocast may lower; b at that of the sums."""
        kind = self.weight.device.type
        lowered = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else self.weight.dtype
        bias = None if self.bias is None else self.bias.to(self.precision)
        return self._replace(weight=self.weight.to(lowered), bias=bias)

    def buffer(self, rows: int) -> Tensor:
        return self.weight.new_empty(rows, len(self.weight), dtype=self.precision)

    def chunk_logits(self, features: Tensor, out: Tensor, slopes: Tensor | None = None) -> Tensor:
        """The logits of some rows, in `out` [n, V]; where there is a cap, `slopes` [n, V] gets its derivative."""
        with torch.autocast(features.device.type, enabled=False):  # what is lowered is lowered by `for_products`
            features = features.to(self.weight.dtype)
            if out.dtype == features.dtype:
                affine(features, self.weight, self.bias, out)
            else:
                out.copy_(torch.mm(features, self.weight.t()))
                if self.bias is not None:
                    out.add_(self.bias)
        if self.cap is not None:
            out.mul_(self.scale / self.cap).tanh_()
            if slopes is not None:
                torch.square(out, out=slopes).neg_().add_(1)
            out.mul_(self.cap)
        elif self.scale != 1:
            out.mul_(self.scale)
        return out if self.forbidden is None else out.index_fill_(1, self.forbidden, -torch.inf)

    @property
    def possible(self) -> int:
        """M, the number of tokens that can be generated."""
        return len(self.weight) - (0 if self.forbidden is None else len(self.forbidden))

    def mean_logits(self, logits: Tensor) -> Tensor:
        """The mean of a chunk's logits [n, V] over the tokens that can be generated. [n]"""
        if self.forbidden is None:
            return logits.mean(1)
        total = logits.index_fill_(1, self.forbidden, 0.0).sum(1)
        logits.index_fill_(1, self.forbidden, -torch.inf)
        return total / self.possible

    def logits(self, features: Tensor) -> Tensor:
        """All logits [N, V], as part of the graph."""
        features = features.to(self.weight.dtype)
        if self.bias is None:
            sums = torch.mm(features, self.weight.t())
        else:
            sums = torch.addmm(self.bias.to(features.dtype), features, self.weight.t())
        shaped = self.scaled_and_capped(sums.to(self.precision))
        return shaped if self.forbidden is None else shaped.index_fill(1, self.forbidden, -torch.inf)

    def candidate_logits(self, features: Tensor, tokens: Tensor) -> Tensor:
        """The logits [N, K] of a few tokens [N, K] per row; the rest of the vocabulary is not touched."""
        known = tokens.clamp(min=0)
        vectors = F.embedding(known, self.weight)  # [N, K, D]
        sums = torch.bmm(vectors, features.to(vectors.dtype).unsqueeze(2)).squeeze(2)
        shaped = self.scaled_and_capped(sums if self.bias is None else sums + self.bias[known])
        return shaped.masked_fill(self.impossible(tokens), -torch.inf)

    def impossible(self, tokens: Tensor) -> Tensor:
        """Whether tokens of any shape have a probability of 0 by rule."""
        return tokens < 0 if self.forbidden is None else (tokens < 0) | torch.isin(tokens, self.forbidden)

    def scaled_and_capped(self, sums: Tensor) -> Tensor:
        scaled = sums if self.scale == 1 else sums * self.scale
        return scaled if self.cap is None else self.cap * torch.tanh(scaled / self.cap)
