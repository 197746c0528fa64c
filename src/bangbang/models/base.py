"""What every model has without writing it: known tokens step by step, a rollout in two passes, a decoder.

Shapes: B batch, R rows still going, T time, D features, N positions: all rows of all steps.
"""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Generic, Self

import torch
from torch import Tensor, nn

from bangbang.contracts import Decoder, Head, Model, Rollout, State, TrainingSplit
from bangbang.eval_mode import without_dropout
from bangbang.symbols import BOS, EOS, PAD


class Generator(nn.Module, Generic[State]):
    """A sequence generator. A subclass sets `head` and defines `encode` and `step`; the rest may be overridden."""

    head: Head

    def encode(self, source: Tensor, source_length: Tensor) -> State:
        """The state before the first token, from token ids [B, S] and their lengths, or from image features [B, F]."""
        raise NotImplementedError(f"{type(self).__name__} must define encode()")

    def step(self, state: State, tokens: Tensor) -> tuple[State, Tensor]:
        """After the tokens [B]: the next state, and the features [B, D] from which the head scores the next token."""
        raise NotImplementedError(f"{type(self).__name__} must define step()")

    def step_over(self, state: State, tokens: Tensor) -> tuple[State, Tensor]:
        """After several tokens [B, n]: the next state, and the features [B, D]."""
        for each in tokens.unbind(1):
            state, features = self.step(state, each)
        return state, features

    def unroll(self, state: State, tokens: Tensor) -> Tensor:
        """The features [B, T, D] of T steps over known tokens [B, T]."""
        features = []
        for each in tokens.unbind(1):
            state, found = self.step(state, each)
            features.append(found)
        return torch.stack(features, 1)

    def rollout(self, state: State, max_length: int) -> Rollout:
        """At most `max_length` steps from the state on."""
        return TwoPassRollout(self, state)

    def begin(self, source: Tensor, source_length: Tensor) -> Decoder:
        """A decoder for these inputs, encoded once, for objectives."""
        return InputDecoder(self, self.encode(source, source_length))

    @torch.no_grad()
    def greedy(self, source: Tensor, source_length: Tensor, max_length: int) -> Tensor:
        """The likeliest token time after time, without a graph and without dropout: [B, T], `<pad>` after `</s>`."""
        written: list[Tensor] = []
        with without_dropout(self):
            state, last = self.encode(source, source_length), torch.full_like(source_length, BOS)
            alive = torch.ones_like(last, dtype=torch.bool)
            while len(written) < max_length and alive.any():
                state, features = self.step(state, last)
                last = self.head.top_k(features, 1)[1].squeeze(1).where(alive, PAD)
                alive = alive & (last != EOS)
                written.append(last)
        return torch.stack(written, 1)

    def prepare(self, split: TrainingSplit) -> None:
        """Learn what is to be known of the training inputs before training; nothing, for most models."""

    def keep(self, folder: Path) -> None:
        """Write what neither checkpoints nor the config tell of the model; nothing, for most models."""


@dataclass(frozen=True)
class TensorState:
    """A `DecoderState` whose fields are tensors with the batch in front: a subclass only names them."""

    @property
    def rows(self) -> int:
        return len(self._tensors()[0])

    @property
    def device(self) -> torch.device:
        return self._tensors()[0].device

    def select(self, rows: Tensor) -> Self:
        return type(self)(*(part.index_select(0, rows) for part in self._tensors()))

    def to(self, precision: torch.dtype) -> Self:
        return type(self)(*(part.to(precision) for part in self._tensors()))

    def _tensors(self) -> list[Tensor]:
        return [getattr(self, field.name) for field in fields(self)]


class TwoPassRollout(Generic[State]):
    """Samples without a graph and without dropout, then reads the sample once more with both.

    It works for every model. Our recurrent models have rollouts that compute nothing twice.
    """

    def __init__(self, model: Model[State], state: State) -> None:
        self.model, self.start, self.state = model, state, state
        self.rows = torch.arange(state.rows, device=state.device)  # [R] the input that each row is of
        self.steps: list[tuple[Tensor, Tensor]] = []  # of each step: rows and tokens [R]

    @torch.no_grad()
    def step(self, tokens: Tensor) -> Tensor:
        with without_dropout(self.model):
            self.state, features = self.model.step(self.state, tokens)
        self.steps.append((self.rows, tokens))
        return features

    def keep(self, rows: Tensor) -> None:
        with torch.no_grad():
            self.state = self.state.select(rows)
        self.rows = self.rows[rows]

    def features(self) -> Tensor:
        read = torch.full((self.start.rows, len(self.steps)), PAD, device=self.rows.device)  # [B, T]
        for t, (rows, tokens) in enumerate(self.steps):
            read[rows, t] = tokens
        features = self.model.unroll(self.start, read)  # [B, T, D]
        return torch.cat([features[rows, t] for t, (rows, _) in enumerate(self.steps)])


class GraphRollout(Generic[State]):
    """Samples with a graph and with dropout, and is trained on these very steps: for small models, whose graph of all
    steps fits into memory. It saves the second pass.

    And what is sampled is what is trained: a policy gradient learns where the noise of dropout leads it astray, as new
    inputs will, though without noise it may get every training example right.
    """

    def __init__(self, model: Generator[State], state: State) -> None:
        self.model, self.state = model, state
        self.taken: list[Tensor] = []  # the features [R, D] of each step

    @torch.enable_grad()
    def step(self, tokens: Tensor) -> Tensor:
        self.state, features = self.model.step(self.state, tokens)
        self.taken.append(features)
        return features

    @torch.enable_grad()
    def keep(self, rows: Tensor) -> None:
        self.state = self.state.select(rows)

    def features(self) -> Tensor:
        return torch.cat(self.taken)


class InputDecoder(Generic[State]):
    """A model's decoder for a batch of inputs, as objectives ask for it."""

    def __init__(self, model: Generator[State], state: State) -> None:
        self.model, self.state = model, state

    @property
    def head(self) -> Head:
        return self.model.head

    def unroll(self, tokens: Tensor) -> Tensor:
        return self.model.unroll(self.state, tokens)

    def rollout(self, max_length: int) -> Rollout:
        return self.model.rollout(self.state, max_length)

    def jumps(self) -> Rollout:
        from bangbang.models.jumps import JumpRollout

        return JumpRollout(self.model, self.state)

    @torch.no_grad()
    def read(self, tokens: Tensor) -> Tensor:
        with without_dropout(self.model):
            return self.model.unroll(self.state, tokens)

    def repeat(self, times: int) -> "InputDecoder[State]":
        if times == 1:
            return self
        return self.select(torch.arange(self.state.rows, device=self.state.device).repeat_interleave(times))

    def select(self, rows: Tensor) -> "InputDecoder[State]":
        return InputDecoder(self.model, self.state.select(rows))
