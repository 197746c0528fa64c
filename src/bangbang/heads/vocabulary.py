"""The vocabulary layer as one component: what training and decoding ask of the output distribution.

Shapes: N positions, D features, V vocabulary.
"""

import torch
from torch import Tensor, nn

from bangbang.heads.log_prob import weighted_log_prob


class VocabularyHead(nn.Module):
    """softmax(W f + b) over the vocabulary. `weight` [V, D] may serve as the model's embedding matrix too."""

    def __init__(self, vocabulary_size: int, features: int) -> None:
        super().__init__()
        # small enough that the first distributions are nearly uniform, large enough for embeddings to differ
        self.weight = nn.Parameter(torch.empty(vocabulary_size, features).normal_(std=features**-0.5))
        self.bias = nn.Parameter(torch.zeros(vocabulary_size))

    def log_prob(self, features: Tensor, tokens: Tensor, coefficients: Tensor | None = None) -> Tensor:
        """coefficient · log p(token) for each position, [N]; coefficients are 1 unless given."""
        if coefficients is None:
            coefficients = torch.ones(len(tokens), dtype=self.weight.dtype, device=features.device)
        with torch.autocast(features.device.type, enabled=False):  # log-probabilities need the weights' full precision
            return weighted_log_prob(
                features.to(self.weight.dtype), self.weight, self.bias, tokens, coefficients.to(self.weight.dtype)
            )

    def logits(self, features: Tensor) -> Tensor:
        """All logits [N, V], for decoding a step of a few rows."""
        return torch.addmm(self.bias, features, self.weight.t())
