"""One output distribution of several models': the mean of their probabilities, or of their log-probabilities.

    p = 1/K Σ_k p_k        or        p ∝ exp(1/K Σ_k log p_k)

For decoding: nothing of it is trained.

Shapes: K models, N positions, n of them in a chunk, D_k features of model k, V vocabulary.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Literal

import torch
from torch import Tensor

from bangbang.contracts import Head, Offsets, Scored
from bangbang.heads.output_layer import chunk_rows
from bangbang.heads.sampling import add_offsets, invert

Average = Literal["probabilities", "log-probabilities"]


def mean_log_prob(log_probs: Tensor, average: Average) -> Tensor:
    """log p from log p_k [K, N, V] → [N, V]"""
    if average == "probabilities":
        return log_probs.logsumexp(0) - math.log(len(log_probs))
    return log_probs.mean(0).log_softmax(1)


class CombinedHead:
    """The heads of several models as one; its features are theirs side by side [N, Σ_k D_k]."""

    def __init__(self, heads: Sequence[Head], average: Average) -> None:
        self.heads, self.average = heads, average
        self.widths: list[int] = []  # D_k, once there are features

    @property
    def size(self) -> int:
        return self.heads[0].size

    def joined(self, features: Sequence[Tensor]) -> Tensor:
        """The features of all models as one tensor: [..., D_k] → [..., Σ_k D_k]"""
        self.widths = [each.shape[-1] for each in features]
        return torch.cat(list(features), -1)

    def logits(self, features: Tensor) -> Tensor:
        """log p [N, V], which are logits of themselves."""
        parts = zip(self.heads, torch.split(features, self.widths, -1), strict=True)
        return mean_log_prob(torch.stack([head.logits(part).log_softmax(1) for head, part in parts]), self.average)

    def chunks(self, features: Tensor) -> Iterator[tuple[slice, Tensor]]:
        """log p [n, V] of some rows after the other."""
        size = max(1, chunk_rows(self.size) // len(self.heads))
        for start in range(0, len(features), size):
            rows = slice(start, start + size)
            yield rows, self.logits(features[rows])

    def candidate_logits(self, features: Tensor, tokens: Tensor) -> Tensor:
        """log p [N, K] of a few tokens [N, K] per row; -inf for -1, which is no token."""
        return self.smoothed(features, tokens, 0.0)

    def smoothed(self, features: Tensor, tokens: Tensor, smoothing: float) -> Tensor:
        """(1 - ε) · log p(token_k) + ε · the mean log p of all tokens that can be generated. [N, K]"""
        parts = []
        for rows, log_p in self.chunks(features):
            found = look_up(log_p, tokens[rows])
            parts.append((1 - smoothing) * found + smoothing * mean_possible(log_p) if smoothing else found)
        return torch.cat(parts) if parts else features.new_empty(tokens.shape)

    def score(self, features: Tensor, tokens: Tensor, weights: Tensor | None = None, smoothing: float = 0.0) -> Scored:
        """Σ_k c_k · log p(token_k) for each position [N]; slots of weight 0 count nothing."""
        each = tokens.view(len(tokens), -1)
        found = self.smoothed(features, each, smoothing)
        c = torch.ones_like(found) if weights is None else weights.view(len(tokens), -1).to(found.dtype)
        return Scored((c * found).masked_fill(c == 0, 0).sum(1), self.entropies(features))

    def score_sets(self, features: Tensor, tokens: Tensor, weights: Tensor | None = None) -> Scored:
        """c · log Σ_k p(token_k) for each position [N]; unused slots hold `<pad>`, whose p is 0."""
        found = self.candidate_logits(features, tokens).logsumexp(1)
        return Scored(found if weights is None else weights.to(found.dtype) * found, self.entropies(features))

    def entropies(self, features: Tensor) -> Tensor:
        """Of the first position. [1], or [0] where there is none"""
        found: Tensor = torch.special.entr(self.logits(features[:1]).exp()).sum(1)
        return found

    def log_prob(self, features: Tensor, tokens: Tensor, weights: Tensor | None = None) -> Tensor:
        return self.score(features, tokens, weights).log_prob

    @torch.no_grad()
    def top_k(self, features: Tensor, k: int, forbidden: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The k largest log p of each row, best first, and their tokens [N, k]; `forbidden` [N, F] tokens have -inf."""
        found = []
        for rows, log_p in self.chunks(features):
            if forbidden is not None:
                log_p = log_p.scatter(1, forbidden[rows], -torch.inf)
            found.append(log_p.topk(min(k, self.size)))
        return torch.cat([best for best, _ in found]), torch.cat([tokens for _, tokens in found])

    @torch.no_grad()
    def sample(
        self,
        features: Tensor,
        uniform: Tensor,
        offsets: Offsets | None = None,
        temperature: float = 1.0,
        top_k: int = 0,
    ) -> Tensor:
        """One token per row [N] from softmax((log p + offsets) / temperature), at the row's uniform number [N]."""
        drawn = []
        for rows, log_p in self.chunks(features):
            if offsets is not None:
                add_offsets(log_p, offsets, rows)
            if 0 < top_k < self.size:
                log_p = log_p.masked_fill(log_p < log_p.topk(top_k).values[:, -1:], -torch.inf)
            drawn.append(invert((log_p / temperature).softmax(1), uniform[rows]))
        return torch.cat(drawn)


def mean_possible(log_p: Tensor) -> Tensor:
    """The mean log p of the tokens whose p is not 0. [n, V] → [n, 1]"""
    possible = log_p > -torch.inf
    return log_p.where(possible, 0).sum(1, keepdim=True) / possible.sum(1, keepdim=True)


def look_up(log_p: Tensor, tokens: Tensor) -> Tensor:
    """[n, V], [n, K] → [n, K]"""
    return log_p.gather(1, tokens.clamp(min=0)).masked_fill(tokens < 0, -torch.inf)
