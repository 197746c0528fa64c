"""Exact draws from softmax(W f + b + offsets), without noise of the vocabulary's size.

A row's distribution is inverted at one uniform number, in two stages: the masses of blocks of the vocabulary pick a
block, the masses of its tokens pick a token. Rows go through in chunks, so no more than a chunk's logits are alive.

Shapes: N rows, K offsets per row, V vocabulary, C blocks of L tokens.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from bangbang.heads.log_prob import Layer, chunk_rows

BLOCK = 256


class Offsets(NamedTuple):
    """What is added to some of a row's logits; -inf forbids a token. A token named twice gets both."""

    tokens: Tensor  # [N, K]
    values: Tensor  # [N, K]


def logit_chunks(
    features: Tensor, weight: Tensor, bias: Tensor, offsets: Offsets | None = None
) -> Iterator[tuple[slice, Tensor]]:
    """The logits [n, V] of chunks of rows, one after the other in the same memory, which may be changed."""
    count = len(features)
    chunks = max(1, math.ceil(count / chunk_rows(len(weight))))
    size = max(1, math.ceil(count / chunks))
    layer = Layer.of(weight, bias)
    buffer = layer.buffer(min(size, count))
    for start in range(0, count, size):
        rows = slice(start, min(start + size, count))
        logits = layer.logits(features[rows], buffer[: rows.stop - start])
        if offsets is not None:
            logits.scatter_add_(1, offsets.tokens[rows], offsets.values[rows].to(logits.dtype))
        yield rows, logits


def sample_rows(
    features: Tensor,
    weight: Tensor,
    bias: Tensor,
    uniform: Tensor,
    offsets: Offsets | None = None,
    temperature: float = 1.0,
    top_k: int = 0,
) -> Tensor:
    """One token per row [N] from softmax((W f + b + offsets) / temperature), cut to the `top_k` likeliest (0: all)."""
    tokens = torch.empty(len(features), dtype=torch.long, device=features.device)
    for rows, logits in logit_chunks(features, weight, bias, offsets):
        if temperature != 1.0:
            logits.div_(temperature)
        if 0 < top_k < logits.shape[1]:
            logits.masked_fill_(logits < logits.topk(top_k).values[:, -1:], -torch.inf)
        p = torch.softmax(logits, 1, out=logits)
        tokens[rows] = invert(p, uniform[rows])
    return tokens


def top_k_rows(
    features: Tensor, weight: Tensor, bias: Tensor, k: int, forbidden: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The k largest log p of each row, best first, and their tokens [N, k]; `forbidden` [N, F] tokens have -inf.

    p is the whole softmax: what is forbidden does not make the rest likelier.
    """
    k = min(k, len(weight))
    best = bias.new_empty(len(features), k, dtype=torch.promote_types(bias.dtype, torch.float32))
    tokens = torch.empty_like(best, dtype=torch.long)
    for rows, logits in logit_chunks(features, weight, bias):
        total = logits.logsumexp(1, keepdim=True)
        if forbidden is not None:
            logits.scatter_(1, forbidden[rows], -torch.inf)
        best[rows], tokens[rows] = logits.topk(k)
        best[rows] -= total
    return best, tokens


def invert(mass: Tensor, uniform: Tensor) -> Tensor:
    """The token at which each row's cumulative mass [n, V] (of any total) passes `uniform` [n] of it."""
    whole = mass.shape[1] // BLOCK * BLOCK
    parts = mass[:, :whole].reshape(len(mass), -1, BLOCK).sum(2) if whole else mass[:, :0]  # [n, C]
    blocks = torch.cat((parts, mass[:, whole:].sum(1, keepdim=True)), 1).double().cumsum(1)
    target = uniform.double().unsqueeze(1) * blocks[:, -1:]
    block = pass_point(blocks, target)
    before = torch.cat((torch.zeros_like(target), blocks), 1).gather(1, block)
    inside = block * BLOCK + torch.arange(BLOCK, device=mass.device)  # [n, L]
    within = mass.gather(1, inside.clamp(max=mass.shape[1] - 1)) * (inside < mass.shape[1])
    token = pass_point(within.double().cumsum(1), target - before)
    return (block * BLOCK + token).squeeze(1)


def pass_point(cumulative: Tensor, target: Tensor) -> Tensor:
    """The first column whose cumulative mass exceeds `target`, [n, 1]; never one without mass of its own.

    Rounding may leave the target at or past the end: the last column that has mass is then meant.
    """
    last = (cumulative < cumulative[:, -1:]).sum(1, keepdim=True)
    return torch.minimum(torch.searchsorted(cumulative, target, right=True), last)
