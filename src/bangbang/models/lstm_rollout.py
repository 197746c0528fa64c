"""The caption decoder one step at a time, over tokens that are chosen on the way, trained on the steps it took.

The steps are taken without a graph and kept on a tape; `features` then makes them one node of the graph and computes
nothing anew. When rows are dropped a new tape begins, and the gradient of its start flows into the last one's end. The
weights' gradients are one product each over all steps of all rows.

Shapes: R rows of a segment, T time, H units, N positions: all rows of all steps.
"""

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx, once_differentiable
from torch.nn import functional as F

from bangbang.models.dropout import noted_dropout
from bangbang.models.lstm import Lstm, Tape
from bangbang.products import affine


class Segment:
    """Steps of the same rows, and their noise."""

    def __init__(self, hidden: Tensor, cell: Tensor, rows: Tensor | None, max_length: int) -> None:
        self.rows = rows  # which rows of the segment before these are; None for the first
        self.tape = Tape(max_length, hidden, cell)
        self.tokens: list[Tensor] = []  # [R]
        self.input_masks: list[Tensor] = []  # [R, H]
        self.output_masks: list[Tensor] = []  # [R, H]


class _Taken(torch.autograd.Function):
    """The states [N, H] of steps that were taken already, from what they read [N, H], the start and the weights."""

    @staticmethod
    def forward(
        ctx: FunctionCtx,
        inputs: Tensor,
        hidden: Tensor,
        cell: Tensor,
        weight: Tensor,
        bias: Tensor,
        recurrent: Tensor,
        segments: list[Segment],
    ) -> Tensor:
        ctx.save_for_backward(inputs, weight, recurrent)
        ctx.segments = segments  # type: ignore[attr-defined]
        return torch.cat([segment.tape.states[1:].flatten(0, 1) for segment in segments])

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, dstates: Tensor) -> tuple[Tensor | None, ...]:
        inputs, weight, recurrent = ctx.saved_tensors  # type: ignore[attr-defined]
        segments: list[Segment] = ctx.segments  # type: ignore[attr-defined]
        upstream = torch.split_with_sizes(dstates, [segment.tape.bent[:, :, 0].numel() for segment in segments])
        dh = dc = torch.zeros_like(segments[-1].tape.states[0])
        for place in reversed(range(len(segments))):
            tape, rows = segments[place].tape, segments[place].rows
            dh, dc = tape.run_back(upstream[place].view_as(tape.bent), dh, dc, recurrent)
            if rows is not None:
                before = torch.zeros_like(segments[place - 1].tape.states[0])
                dh, dc = before.index_add(0, rows, dh), before.index_add(0, rows, dc)
        dx = torch.cat([segment.tape.x.flatten(0, 1) for segment in segments])  # [N, 4H]
        states = torch.cat([segment.tape.states[:-1].flatten(0, 1) for segment in segments])
        return dx @ weight, dh, dc, dx.t() @ inputs, dx.sum(0), dx.t() @ states, None


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
        vectors = noted_dropout(F.embedding(tokens, self.words.weight), self.dropout, segment.input_masks)
        affine(vectors, self.lstm.input.weight, self.lstm.input.bias, out=tape.x[t])
        tape.forward(t, self.lstm.recurrent)
        segment.tokens.append(tokens)
        self.left -= 1
        return noted_dropout(tape.states[t + 1], self.dropout, segment.output_masks)

    def keep(self, rows: Tensor) -> None:
        tape, taken = self.segments[-1].tape, len(self.segments[-1].tokens)
        hidden, cell = (part[taken].index_select(0, rows) for part in (tape.states, tape.cells))
        self.segments.append(Segment(hidden, cell, rows, self.left))

    def features(self) -> Tensor:
        for segment in self.segments:
            segment.tape.cut(len(segment.tokens))
        inputs = self.words(torch.cat([tokens for segment in self.segments for tokens in segment.tokens]))  # [N, H]
        if self.dropout:
            inputs = inputs * torch.cat([mask for segment in self.segments for mask in segment.input_masks])
        lstm = self.lstm
        states: Tensor = _Taken.apply(  # type: ignore[no-untyped-call]
            inputs, self.hidden, self.cell, lstm.input.weight, lstm.input.bias, lstm.recurrent, self.segments
        )
        if not self.dropout:
            return states
        return states * torch.cat([mask for segment in self.segments for mask in segment.output_masks])
