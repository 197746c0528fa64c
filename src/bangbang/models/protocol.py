"""What training and decoding ask of a model, whatever its kind."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from torch import Tensor

from bangbang.heads import VocabularyHead


class DecoderState(NamedTuple):
    """What a decoder needs to know of one input and the tokens so far. Every field has the batch in front."""

    hidden: Tensor  # [B, L, H] the recurrent layers' states
    memory: Tensor  # [B, S, M] what attention reads
    keys: Tensor  # [B, S, H] the memory as attention compares it
    bias: Tensor  # [B, S] 0, and -inf at padding

    def select(self, rows: Tensor) -> "DecoderState":
        """The state of the given rows, in that order; rows may repeat."""
        return DecoderState(*(field.index_select(0, rows) for field in self))


class Rollout(Protocol):
    """A decoder that goes step by step over tokens chosen on the way, and is trained on the steps it took."""

    def step(self, tokens: Tensor) -> Tensor:
        """Reads one token per row [R]; the features [R, D] from which the head scores the next one."""

    def keep(self, rows: Tensor) -> None:
        """Goes on with these rows alone, in this order."""

    def features(self) -> Tensor:
        """The features of all rows of all steps, one step after the other [N, D], as part of the graph."""


class SequenceModel(Protocol):
    @property
    def head(self) -> VocabularyHead: ...

    def encode(self, source: Tensor, source_length: Tensor) -> DecoderState:
        """The state before the first token, from inputs [B, S]."""

    def step(self, state: DecoderState, tokens: Tensor) -> tuple[DecoderState, Tensor]:
        """After the tokens [B]: the next state, and the features [B, D] from which the head scores the next token."""

    def unroll(self, state: DecoderState, tokens: Tensor) -> Tensor:
        """The features [B, T, D] of T steps over known tokens [B, T]: `step` in a loop, done faster."""

    def rollout(self, state: DecoderState, max_length: int) -> Rollout:
        """At most `max_length` steps from the state on."""

    def train(self, mode: bool = True) -> "SequenceModel": ...

    def eval(self) -> "SequenceModel": ...


__all__: Sequence[str] = ("DecoderState", "Rollout", "SequenceModel")
