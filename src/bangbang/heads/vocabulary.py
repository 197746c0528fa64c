"""The vocabulary layer as one component: what training and decoding ask of the output distribution.

Shapes: N positions, D features, V vocabulary.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bangbang.heads.log_prob import Scored, weighted_log_prob
from bangbang.heads.sampling import Offsets, sample_rows, top_k_rows
from bangbang.heads.tied import Tied
from bangbang.symbols import BOS, PAD

# The bias of what is never generated: its probability is exactly 0 at every precision, and its gradient too.
IMPOSSIBLE = -1e4


class VocabularyHead(nn.Module):
    """softmax(W f + b) over the vocabulary. `weight` [V, D] may serve as the model's embedding matrix too (`embed`).

    `<pad>` and `<s>` have no probability, so that p is a distribution over what a sampler may draw.
    """

    def __init__(self, vocabulary_size: int, features: int) -> None:
        super().__init__()
        # small enough that the first distributions are nearly uniform, large enough for embeddings to differ
        self.weight = nn.Parameter(torch.empty(vocabulary_size, features).normal_(std=features**-0.5))
        self.bias = nn.Parameter(torch.zeros(vocabulary_size))
        with torch.no_grad():
            self.bias[[PAD, BOS]] = IMPOSSIBLE
        self.tied: Tied | None = None

    @property
    def size(self) -> int:
        return len(self.weight)

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

    def log_prob(self, features: Tensor, tokens: Tensor, coefficients: Tensor | None = None) -> Tensor:
        """coefficient · log p(token) for each position, [N]; coefficients are 1 unless given."""
        return self.score(features, tokens, coefficients).log_prob

    def score(self, features: Tensor, tokens: Tensor, coefficients: Tensor | None = None) -> Scored:
        """The same, and the entropy of p at a few of the positions."""
        if coefficients is None:
            coefficients = torch.ones(len(tokens), dtype=self.weight.dtype, device=features.device)
        weight = self.weight if self.tied is None else self.tied.weight
        return weighted_log_prob(features.to(weight.dtype), weight, self.bias, tokens, coefficients.to(weight.dtype))

    def logits(self, features: Tensor) -> Tensor:
        """All logits [N, V], for decoding a step of a few rows."""
        return torch.addmm(self.bias, features, self.weight.t())

    def candidate_logits(self, features: Tensor, tokens: Tensor) -> Tensor:
        """The logits [N, K] of a few tokens [N, K] per row; the rest of the vocabulary is not touched."""
        vectors = F.embedding(tokens, self.weight)  # [N, K, D]
        return torch.bmm(vectors, features.to(vectors.dtype).unsqueeze(2)).squeeze(2) + self.bias[tokens]

    @torch.no_grad()
    def top_k(self, features: Tensor, k: int, forbidden: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The k largest log p of each row, best first, and their tokens [N, k]; `forbidden` [N, F] tokens have -inf."""
        return top_k_rows(features, self.weight, self.bias, k, forbidden)

    @torch.no_grad()
    def sample(
        self,
        features: Tensor,
        uniform: Tensor,
        offsets: Offsets | None = None,
        temperature: float = 1.0,
        top_k: int = 0,
    ) -> Tensor:
        """One token per row [N] from softmax((logits + offsets) / temperature), at the row's uniform number [N]."""
        return sample_rows(features, self.weight, self.bias, uniform, offsets, temperature, top_k)
