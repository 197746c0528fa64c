"""A head at a temperature: softmax(logits / T) of the same layer.

    softcap(s · x) / T = softcap'((s / T) · x)        cap' = cap / T

so the layer of another scale and soft-cap is that distribution, and all that is exact of the one is exact of the other.

Shapes: N positions, D features, V vocabulary.
"""

from typing import Protocol, runtime_checkable

from torch import Tensor

from bangbang.contracts import Head
from bangbang.errors import InputError
from bangbang.heads.linear_head import LinearHead
from bangbang.heads.output_layer import OutputLayer


def scaled(layer: OutputLayer, temperature: float) -> OutputLayer:
    cap = None if layer.cap is None else layer.cap / temperature
    return layer._replace(scale=layer.scale / temperature, cap=cap)


class TemperedHead(LinearHead):
    """softmax(logits / T) of another head; it has no weights of its own."""

    def __init__(self, head: LinearHead, temperature: float) -> None:
        self.head, self.temperature = head, temperature

    @property
    def size(self) -> int:
        return self.head.size

    def layer(self) -> OutputLayer:
        return scaled(self.head.layer(), self.temperature)

    def scored_layer(self) -> OutputLayer:
        return scaled(self.head.scored_layer(), self.temperature)

    def to_layer(self, tokens: Tensor) -> Tensor:
        return self.head.to_layer(tokens)

    def from_layer(self, tokens: Tensor) -> Tensor:
        return self.head.from_layer(tokens)

    def logits(self, features: Tensor) -> Tensor:
        return self.head.logits(features) / self.temperature


@runtime_checkable
class Temperable(Protocol):
    """A head that knows itself what it is at another temperature."""

    def tempered(self, temperature: float) -> Head: ...


def at_temperature(head: Head, temperature: float) -> Head:
    if temperature == 1:
        return head
    if isinstance(head, Temperable):
        return head.tempered(temperature)
    if not isinstance(head, LinearHead):
        raise InputError(
            f"objective.temperature = {temperature:g} is for models with a linear output layer, which a "
            f"{type(head).__name__} is not; leave it at 1"
        )
    return TemperedHead(head, temperature)
