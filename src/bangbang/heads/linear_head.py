"""What training and decoding ask of the output distribution, for any linear output layer.

Shapes: N positions, K tokens per position, D features, V vocabulary.
"""

from abc import abstractmethod

import torch
from torch import Tensor

from bangbang.contracts import Offsets, Scored
from bangbang.errors import InputError
from bangbang.heads.log_prob import set_log_prob, weighted_log_prob
from bangbang.heads.output_layer import OutputLayer
from bangbang.heads.sampling import sample_rows, top_k_rows


def check_whole(tokens: Tensor) -> None:
    """An InputError unless tokens are whole numbers; an empty list makes a tensor of others."""
    if tokens.dtype not in (torch.int64, torch.int32):
        raise InputError(f"tokens are token ids, whole numbers of int64, not {tokens.dtype}")


class LinearHead:
    """softmax(logits) of an output layer. Subclasses name the layer, and translate tokens if its ids are not ours."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of token ids, forbidden ones included."""

    @abstractmethod
    def layer(self) -> OutputLayer: ...

    def scored_layer(self) -> OutputLayer:
        """The layer as scores read it and give gradients to it."""
        return self.layer()

    def to_layer(self, tokens: Tensor) -> Tensor:
        """The layer's ids of our tokens, of any shape; -1 where it has none."""
        return tokens

    def from_layer(self, tokens: Tensor) -> Tensor:
        """Our ids of the layer's tokens, of any shape."""
        return tokens

    def log_prob(self, features: Tensor, tokens: Tensor, weights: Tensor | None = None) -> Tensor:
        """The scores of `score` alone, [N]."""
        return self.score(features, tokens, weights).log_prob

    def score(self, features: Tensor, tokens: Tensor, weights: Tensor | None = None, smoothing: float = 0.0) -> Scored:
        """Σ_k c_k · log p(token_k) for each position [N], and the entropy of p at a few of the positions.

        Tokens and their weights c are [N], one for each position, or [N, K]. Weights are 1 unless given. Slots of
        weight 0 are unused; they hold `<pad>`. A token that is never generated has a log p of -inf; where a gradient
        is needed it is an `InputError`. A `smoothing` ε makes of log p(token_k) the (1 - ε)-th part, and adds ε of the
        mean log p over all tokens that can be generated.
        """
        check_whole(tokens)
        layer = self.scored_layer()
        if weights is None:
            weights = torch.ones_like(tokens, dtype=layer.precision)
        features = features.to(layer.weight.dtype)
        return weighted_log_prob(layer, features, self.to_layer(tokens), weights.to(layer.precision), smoothing)

    def score_sets(self, features: Tensor, tokens: Tensor, weights: Tensor | None = None) -> Scored:
        """c · log Σ_k p(token_k) for each position [N], of sets of different tokens [N, K] with weights c [N].

        Unused slots hold `<pad>`.
        """
        check_whole(tokens)
        layer = self.scored_layer()
        if weights is None:
            weights = torch.ones_like(tokens[:, 0], dtype=layer.precision)
        features = features.to(layer.weight.dtype)
        return set_log_prob(layer, features, self.to_layer(tokens), weights.to(layer.precision))

    def logits(self, features: Tensor) -> Tensor:
        """All logits [N, V], for decoding a step of a few rows."""
        return self.layer().logits(features)

    def candidate_logits(self, features: Tensor, tokens: Tensor) -> Tensor:
        """The logits [N, K] of a few tokens [N, K] per row; the rest of the vocabulary is not touched."""
        check_whole(tokens)
        return self.layer().candidate_logits(features, self.to_layer(tokens))

    @torch.no_grad()
    def top_k(self, features: Tensor, k: int, forbidden: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The k largest log p of each row, best first, and their tokens [N, k]; `forbidden` [N, F] tokens have -inf."""
        excluded = None if forbidden is None else self.to_layer(forbidden)
        best, tokens = top_k_rows(self.layer(), features, k, excluded)
        return best, self.from_layer(tokens)

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
        if offsets is not None:
            offsets = offsets._replace(tokens=self.to_layer(offsets.tokens))
        return self.from_layer(sample_rows(self.layer(), features, uniform, offsets, temperature, top_k))
