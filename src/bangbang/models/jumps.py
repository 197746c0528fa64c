"""A rollout that calls the model only where it is asked for features, and then reads all tokens that wait at once.

Where the reward alone chooses, nobody asks. Shapes: R rows still going, D features.
"""

from typing import Generic

import torch
from torch import Tensor

from bangbang.contracts import State
from bangbang.eval_mode import without_dropout
from bangbang.models.base import Generator, TwoPassRollout


class Pending:
    """The features of the last step [R, D], computed when some rows of them are asked for."""

    def __init__(self, rollout: "JumpRollout[State]") -> None:
        self.rollout = rollout

    def __getitem__(self, rows: Tensor) -> Tensor:
        return self.rollout.read()[rows]


class JumpRollout(TwoPassRollout[State], Generic[State]):
    """Samples in as few calls of the model as there are steps whose features are asked for."""

    def __init__(self, model: Generator[State], state: State) -> None:
        super().__init__(model, state)
        self.generator = model
        self.waiting: list[Tensor] = []  # tokens [R] that were not read yet
        self.calls = 0
        """Of the model, for sampling."""

    def step(self, tokens: Tensor) -> Pending:  # type: ignore[override]
        self.steps.append((self.rows, tokens))
        self.waiting.append(tokens)
        return Pending(self)

    def keep(self, rows: Tensor) -> None:
        super().keep(rows)
        self.waiting = [tokens[rows] for tokens in self.waiting]

    @torch.no_grad()
    def read(self) -> Tensor:
        """The features after all tokens so far."""
        if self.waiting:
            with without_dropout(self.generator):
                self.state, self.latest = self.generator.step_over(self.state, torch.stack(self.waiting, 1))
            self.calls += 1
            self.waiting = []
        return self.latest
