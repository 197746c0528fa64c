"""Exact draws from softmax(logits + offsets), without noise of the vocabulary's size.

A row's distribution is inverted at one uniform number, in two stages: the masses of blocks of the vocabulary pick a
block, the masses of its tokens pick a token. Rows go through in chunks, so no more than a chunk's logits are alive.

Shapes: N rows, K offsets per row, V vocabulary, C blocks of L tokens.
"""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from bangbang.contracts import Offsets
from bangbang.heads.output_layer import OutputLayer, chunk_rows
from bangbang.precision import widest_float

BLOCK = 256


def add_offsets(logits: Tensor, offsets: Offsets, rows: slice) -> None:
    """Add the offsets of these rows to their logits [n, V], in place."""
    tokens, values = offsets.tokens[rows], offsets.values[rows].to(logits.dtype)
    logits.scatter_add_(1, tokens.clamp(min=0), values.masked_fill(tokens < 0, 0.0))


def logit_chunks(
    layer: OutputLayer, features: Tensor, offsets: Offsets | None = None
) -> Iterator[tuple[slice, Tensor]]:
    """The logits [n, V] of chunks of rows, one after the other in the same memory, which may be changed."""
    count = len(features)
    chunks = max(1, math.ceil(count / chunk_rows(len(layer.weight))))
    size = max(1, math.ceil(count / chunks))
    layer = layer.for_products()
    buffer = layer.buffer(min(size, count))
    for start in range(0, count, size):
        rows = slice(start, min(start + size, count))
        logits = layer.chunk_logits(features[rows], buffer[: rows.stop - start])
        if offsets is not None:
            add_offsets(logits, offsets, rows)
        yield rows, logits


def sample_rows(
    layer: OutputLayer,
    features: Tensor,
    uniform: Tensor,
    offsets: Offsets | None = None,
    temperature: float = 1.0,
    top_k: int = 0,
) -> Tensor:
    """One token per row [N] from softmax((logits + offsets) / temperature), cut to the `top_k` likeliest (0: all)."""
    tokens = torch.empty(len(features), dtype=torch.long, device=features.device)
    for rows, logits in logit_chunks(layer, features, offsets):
        if temperature != 1.0:
            logits.div_(temperature)
        if 0 < top_k < logits.shape[1]:
            logits.masked_fill_(logits < logits.topk(top_k).values[:, -1:], -torch.inf)
        p = torch.softmax(logits, 1, out=logits)
        tokens[rows] = invert(p, uniform[rows])
    return tokens


def top_k_rows(layer: OutputLayer, features: Tensor, k: int, forbidden: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The k largest log p of each row, best first, and their tokens [N, k]; `forbidden` [N, F] tokens have -inf.

    p is the whole softmax: what is forbidden does not make the rest likelier.
    """
    k = min(k, len(layer.weight))
    best = layer.weight.new_empty(len(features), k, dtype=layer.precision)
    tokens = torch.empty_like(best, dtype=torch.long)
    for rows, logits in logit_chunks(layer, features):
        total = logits.logsumexp(1, keepdim=True)
        if forbidden is not None:
            never = torch.full_like(forbidden, -torch.inf, dtype=torch.float32)
            add_offsets(logits, Offsets(forbidden, never), rows)
        best[rows], tokens[rows] = logits.topk(k)
        best[rows] -= total
    return best, tokens


def invert(mass: Tensor, uniform: Tensor) -> Tensor:
    """The token at which each row's cumulative mass [n, V] (of any total) passes `uniform` [n] of it."""
    precision, whole = widest_float(mass.device), mass.shape[1] // BLOCK * BLOCK
    parts = mass[:, :whole].reshape(len(mass), -1, BLOCK).sum(2) if whole else mass[:, :0]  # [n, C]
    blocks = torch.cat((parts, mass[:, whole:].sum(1, keepdim=True)), 1).to(precision).cumsum(1)
    target = uniform.to(precision).unsqueeze(1) * blocks[:, -1:]
    block = pass_point(blocks, target)
    before = torch.cat((torch.zeros_like(target), blocks), 1).gather(1, block)
    inside = block * BLOCK + torch.arange(BLOCK, device=mass.device)  # [n, L]
    within = mass.gather(1, inside.clamp(max=mass.shape[1] - 1)) * (inside < mass.shape[1])
    token = pass_point(within.to(precision).cumsum(1), target - before)
    return (block * BLOCK + token).squeeze(1)


def pass_point(cumulative: Tensor, target: Tensor) -> Tensor:
    """The first column whose cumulative mass exceeds `target`, [n, 1]; never one without mass of its own.

    Rounding may leave the target at or past the end: the last column that has mass is then meant.
    """
    last = (cumulative < cumulative[:, -1:]).sum(1, keepdim=True)
    return torch.minimum(torch.searchsorted(cumulative, target, right=True), last)
