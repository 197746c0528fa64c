"""The vocabulary layer of our own models.

Shapes: D features, V vocabulary.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bangbang.heads.linear_head import LinearHead
from bangbang.heads.output_layer import OutputLayer
from bangbang.heads.tied import Tied
from bangbang.symbols import BOS, PAD


class VocabularyHead(LinearHead, nn.Module):
    """softmax(W f + b) over the vocabulary. `weight` [V, D] may serve as the model's embedding matrix too (`embed`).

    `<pad>` and `<s>` are forbidden, so that p is a distribution over what a sampler may draw. What stands at their
    places of the bias does not matter.
    """

    forbidden: Tensor

    def __init__(self, vocabulary_size: int, features: int) -> None:
        super().__init__()
        # small enough that the first distributions are nearly uniform, large enough for embeddings to differ
        self.weight = nn.Parameter(torch.empty(vocabulary_size, features).normal_(std=features**-0.5))
        self.bias = nn.Parameter(torch.zeros(vocabulary_size))
        self.register_buffer("forbidden", torch.tensor([PAD, BOS]), persistent=False)
        self.tied: Tied | None = None

    @property
    def size(self) -> int:
        return len(self.weight)

    def layer(self) -> OutputLayer:
        return OutputLayer(self.weight, self.bias, forbidden=self.forbidden)

    def scored_layer(self) -> OutputLayer:
        return self.layer() if self.tied is None else self.layer()._replace(weight=self.tied.weight)

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
