"""What training and decoding ask of a model, whatever its kind."""

from typing import Protocol, Self, TypeVar

from torch import Tensor

from bangbang.heads import VocabularyHead


class DecoderState(Protocol):
    """What a decoder needs to know of one input and the tokens so far. Every tensor has the batch in front."""

    @property
    def hidden(self) -> Tensor:
        """[B, ...] the recurrent state."""

    def select(self, rows: Tensor) -> Self:
        """The state of the given rows, in that order; rows may repeat."""


State = TypeVar("State", bound=DecoderState)


class Rollout(Protocol):
    """A decoder that goes step by step over tokens chosen on the way, and is trained on the steps it took."""

    def step(self, tokens: Tensor) -> Tensor:
        """Reads one token per row [R]; the features [R, D] from which the head scores the next one."""

    def keep(self, rows: Tensor) -> None:
        """Goes on with these rows alone, in this order."""

    def features(self) -> Tensor:
        """The features of all rows of all steps, one step after the other [N, D], as part of the graph."""


class SequenceModel(Protocol[State]):
    @property
    def head(self) -> VocabularyHead: ...

    def encode(self, source: Tensor, source_length: Tensor) -> State:
        """The state before the first token, from token ids [B, S] and their lengths, or from image features [B, F]."""

    def step(self, state: State, tokens: Tensor) -> tuple[State, Tensor]:
        """After the tokens [B]: the next state, and the features [B, D] from which the head scores the next token."""

    def unroll(self, state: State, tokens: Tensor) -> Tensor:
        """The features [B, T, D] of T steps over known tokens [B, T]: `step` in a loop, done faster."""

    def rollout(self, state: State, max_length: int) -> Rollout:
        """At most `max_length` steps from the state on."""

    def train(self, mode: bool = True) -> Self: ...

    def eval(self) -> Self: ...
