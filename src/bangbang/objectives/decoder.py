"""What an objective asks of a model: one input's decoder, without knowing its kind.

Shapes: B batch, R rows still going, T time, D features, N positions.
"""

from typing import Protocol

from torch import Tensor

from bangbang.heads import VocabularyHead


class Rollout(Protocol):
    """A decoder that goes step by step over tokens chosen on the way, and is trained on the steps it took."""

    def step(self, tokens: Tensor) -> Tensor:
        """Reads one token per row [R]; the features [R, D] from which the head scores the next one."""
        ...

    def keep(self, rows: Tensor) -> None:
        """Goes on with these rows alone, in this order."""
        ...

    def features(self) -> Tensor:
        """The features of all rows of all steps, one step after the other [N, D], as part of the graph."""
        ...


class Decoder(Protocol):
    """A decoder before its first token, for a batch of inputs."""

    @property
    def head(self) -> VocabularyHead: ...

    def unroll(self, tokens: Tensor) -> Tensor:
        """The features [B, T, D] of reading known tokens [B, T]."""
        ...

    def rollout(self, max_length: int) -> Rollout:
        """At most `max_length` steps over tokens chosen on the way."""
        ...

    def repeat(self, times: int) -> "Decoder":
        """Each input `times` times, next to one another."""
        ...
