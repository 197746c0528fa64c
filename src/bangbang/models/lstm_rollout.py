"""The caption decoder one step at a time, over tokens that are chosen on the way, trained on the steps it took.

The steps are taken without a graph and kept on a tape; `features` then makes the graph of them without computing
anything anew. When rows are dropped a new tape begins, and the gradient of its start flows into the last one's end.

Shapes: R rows of a segment, T time, H units.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bangbang.models.dropout import keep_mask
from bangbang.models.known import known_linear
from bangbang.models.lstm import Lstm, Tape


class Segment:
    """Steps of the same rows, and their noise."""

    def __init__(self, hidden: Tensor, cell: Tensor, rows: Tensor | None, max_length: int) -> None:
        self.rows = rows  # which rows of the segment before these are; None for the first
        self.tape = Tape(max_length, hidden, cell)
        self.tokens: list[Tensor] = []  # [R]
        self.input_masks: list[Tensor] = []  # [R, H]
        self.output_masks: list[Tensor] = []  # [R, H]


class LstmRollout:
    def __init__(
        self, words: nn.Embedding, lstm: Lstm, dropout: float, hidden: Tensor, cell: Tensor, max_length: int
    ) -> None:
        self.words, self.lstm, self.dropout, self.left = words, lstm, dropout, max_length
        self.hidden, self.cell = hidden, cell  # [R, H] the start, as part of the graph
        self.segments = [Segment(hidden.detach(), cell.detach(), None, max_length)]

    @torch.no_grad()
    def step(self, tokens: Tensor) -> Tensor:
        segment = self.segments[-1]
        tape, t = segment.tape, len(segment.tokens)
        vectors = self.noisy(F.embedding(tokens, self.words.weight), segment.input_masks)
        torch.addmm(self.lstm.input.bias, vectors, self.lstm.input.weight.t(), out=tape.x[t])
        tape.forward(t, self.lstm.recurrent)
        segment.tokens.append(tokens)
        self.left -= 1
        return self.noisy(tape.states[t + 1], segment.output_masks)

    def noisy(self, activations: Tensor, masks: list[Tensor]) -> Tensor:
        """Dropout whose mask is added to `masks`."""
        if not self.dropout:
            return activations
        masks.append(keep_mask(activations, self.dropout))
        return activations * masks[-1]

    def keep(self, rows: Tensor) -> None:
        tape, taken = self.segments[-1].tape, len(self.segments[-1].tokens)
        hidden, cell = (part[taken].index_select(0, rows) for part in (tape.states, tape.cells))
        self.segments.append(Segment(hidden, cell, rows, self.left))

    def features(self) -> Tensor:
        hidden, cell, parts = self.hidden, self.cell, []
        for segment in self.segments:
            if segment.rows is not None:
                hidden, cell = hidden.index_select(0, segment.rows), cell.index_select(0, segment.rows)
            if not segment.tokens:
                continue
            states, cell = self.graph(segment, hidden, cell)
            hidden = states[-1]
            parts.append((states * torch.stack(segment.output_masks) if self.dropout else states).flatten(0, 1))
        return torch.cat(parts)

    def graph(self, segment: Segment, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        """States [T, R, H] and the last cell of a segment's steps."""
        segment.tape.cut(len(segment.tokens))
        vectors = self.words(torch.stack(segment.tokens))  # [T, R, H]
        if self.dropout:
            vectors = vectors * torch.stack(segment.input_masks)
        gates = known_linear(vectors, self.lstm.input, segment.tape.x)
        return self.lstm.steps(gates, hidden, cell, segment.tape, taken=True)
