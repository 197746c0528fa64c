"""What is scored at a position: one token, weighted tokens or a set of tokens.

Shapes: n rows of a chunk, K tokens per row, D features, V vocabulary.
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

    def rows(self, rows: slice) -> "Targets":
        return self._replace(tokens=self.tokens[rows], c=self.c[rows])


def taken(values: Tensor, tokens: Tensor, otherwise: float) -> Tensor:
    """values [n, V] at tokens [n, K], and `otherwise` where there is no token."""
    return values.gather(1, tokens.clamp(min=0)).masked_fill_(tokens < 0, otherwise)


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
    p: Tensor, slopes: Tensor | None, scale: float, tokens: Tensor, a: Tensor, total: Tensor
) -> Tensor:
    """scale · softcap' · (Σ_k a_k onehot(token_k) - total · p) of each row, in place of p [n, V]."""
    g = p.mul_(-total.unsqueeze(1).to(p.dtype)).scatter_add_(1, tokens.clamp(min=0), a.to(p.dtype))
    if slopes is not None:
        g.mul_(slopes)
    return g if scale == 1 else g.mul_(scale)
