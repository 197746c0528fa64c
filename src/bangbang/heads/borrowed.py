"""The output layer of somebody else's model, as our vocabulary layer.

Shapes: N positions, D features, V own ids, V' ids of the foreign model.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

import torch
from torch import Tensor

from bangbang.errors import InputError
from bangbang.heads.alphabet import Alphabet
from bangbang.heads.linear_head import LinearHead
from bangbang.heads.output_layer import OutputLayer


class LinearLike(Protocol):
    """An `nn.Linear`, or whatever else has its weight and bias at hand."""

    @property
    def weight(self) -> Tensor: ...  # [V', D]

    @property
    def bias(self) -> Tensor | None: ...  # [V']


class BorrowedHead(LinearHead):
    """softmax(softcap(scale · (W f + b))) of a foreign linear layer, in our ids (`alphabet`).

    Weight and bias stay the foreign model's: they are neither copied nor registered as parameters here, they are looked
    up at each use, and gradients reach them. Only given and chosen tokens are translated, never a row of logits, but in
    `logits`. A wrapper whose output is not W f + b of its `weight` (such as a LoRA layer) must not be borrowed.
    """

    def __init__(
        self,
        linear: LinearLike,
        ends: Sequence[int],
        unknown: int | None = None,
        forbidden: Iterable[int] = (),
        scale: float = 1.0,
        cap: float | None = None,
        bias: Tensor | None = None,
    ) -> None:
        """`ends`, `unknown`, `forbidden`: foreign ids, as `Alphabet` has them. `bias` replaces the layer's own; models
        that add one after their last layer keep it in a buffer."""
        if linear.weight.ndim != 2:
            raise InputError(f"a linear layer has a weight of two dimensions, not {linear.weight.ndim}")
        if cap is not None and cap <= 0:
            raise InputError(f"a soft-cap must be positive, not {cap}; None is no cap")
        self.linear, self.scale, self.cap, self.other_bias = linear, scale, cap, bias
        self.alphabet = Alphabet(len(linear.weight), ends, unknown, forbidden)
        self.forbidden = torch.tensor(self.alphabet.forbidden, dtype=torch.long) if self.alphabet.forbidden else None

    @property
    def size(self) -> int:
        return self.alphabet.size

    def layer(self) -> OutputLayer:
        weight, bias = self.linear.weight, self.linear.bias if self.other_bias is None else self.other_bias
        if self.forbidden is not None:
            self.forbidden = self.forbidden.to(weight.device)
        bias = None if bias is None else bias.view(-1)
        return OutputLayer(weight, bias, self.scale, self.cap, self.forbidden)

    def to_layer(self, tokens: Tensor) -> Tensor:
        return self.alphabet.to_theirs(tokens)

    def from_layer(self, tokens: Tensor) -> Tensor:
        return self.alphabet.to_ours(tokens)

    def logits(self, features: Tensor) -> Tensor:
        """All logits [N, V] in our ids: a copy of the foreign ones, for decoding a step of a few rows."""
        theirs = self.to_layer(torch.arange(self.size, device=features.device))
        logits = self.layer().logits(features).index_select(1, theirs.clamp(min=0))
        return logits.masked_fill(theirs < 0, -torch.inf)
