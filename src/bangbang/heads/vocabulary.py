"""The vocabulary layer as one component: what training and decoding ask of the output distribution.

Shapes: N positions, D features, V vocabulary.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bangbang.heads.log_prob import weighted_log_prob
from bangbang.heads.tied import Tied


class VocabularyHead(nn.Module):
    """softmax(W f + b) over the vocabulary. `weight` [V, D] may serve as the model's embedding matrix too (`embed`)."""

    def __init__(self, vocabulary_size: int, features: int) -> None:
        super().__init__()
        # small enough that the first distributions are nearly uniform, large enough for embeddings to differ
        self.weight = nn.Parameter(torch.empty(vocabulary_size, features).normal_(std=features**-0.5))
        self.bias = nn.Parameter(torch.zeros(vocabulary_size))
        self.tied: Tied | None = None

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
        if coefficients is None:
            coefficients = torch.ones(len(tokens), dtype=self.weight.dtype, device=features.device)
        with torch.autocast(features.device.type, enabled=False):  # log-probabilities need the weights' full precision
            weight = self.weight if self.tied is None else self.tied.weight
            precise = features.to(weight.dtype), weight, self.bias, tokens, coefficients.to(weight.dtype)
            return weighted_log_prob(*precise)

    def logits(self, features: Tensor) -> Tensor:
        """All logits [N, V], for decoding a step of a few rows."""
        return torch.addmm(self.bias, features, self.weight.t())
