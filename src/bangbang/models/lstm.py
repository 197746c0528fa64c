"""A long short-term memory with a backward pass of its own: few tensor operations per time step.

    i, f, o = σ(x + U h)      g = tanh(x + U h)      c' = f ⊙ c + i ⊙ g      h' = o ⊙ tanh(c')

with x = W x_t + b from the input. Gates lie side by side in the order i, f, o, g. The products with the input and all
weight gradients are taken once for all time steps.

Shapes: B batch, R rows of a segment, T time, H units, N positions: all rows of all steps. What is kept has time first.
"""

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx, once_differentiable
from torch.nn import functional as F

from bangbang.models.gru import full_precision, initial_weight
from bangbang.models.layers import SingleUse, noted_dropout
from bangbang.products import add_product, affine


class Tape(SingleUse):
    """Everything the backward pass needs of at most T steps. Their input products are written into `x`."""

    def __init__(self, time: int, hidden: Tensor, cell: Tensor) -> None:
        batch, units = hidden.shape
        self.units = units
        self.x = hidden.new_empty(time, batch, 4 * units)  # input products; then the gates; dx in the backward pass
        self.states, self.cells = (hidden.new_empty(time + 1, batch, units) for _ in range(2))
        self.states[0], self.cells[0] = hidden, cell
        self.bent = hidden.new_empty(time, batch, units)  # tanh(c')

    def forward(self, t: int, recurrent: Tensor) -> None:
        gates, size = add_product(self.x[t], self.states[t], recurrent), self.units
        gates[:, : 3 * size].sigmoid_()
        i, f, o, g = gates.chunk(4, 1)
        g.tanh_()
        torch.mul(f, self.cells[t], out=self.cells[t + 1]).addcmul_(i, g)
        torch.tanh(self.cells[t + 1], out=self.bent[t])
        torch.mul(o, self.bent[t], out=self.states[t + 1])

    def backward(self, t: int, dh: Tensor, dc: Tensor) -> Tensor:
        """Turns the gates of step t into dx, from the gradients of h' and c'; returns that of c."""
        (i, f, o, g), bent, size = self.x[t].chunk(4, 1), self.bent[t], self.units
        dc = dc + torch.ops.aten.tanh_backward(dh * o, bent)
        through = torch.cat((dc * g, dc * self.cells[t], dh * bent), 1)
        dg, carried = dc * i, dc * f
        torch.ops.aten.sigmoid_backward.grad_input(through, self.x[t, :, : 3 * size], grad_input=through)
        torch.ops.aten.tanh_backward.grad_input(dg, g, grad_input=g)
        self.x[t, :, : 3 * size] = through
        return carried

    def cut(self, time: int) -> None:
        """Forget the room for steps after the first `time`."""
        self.x, self.bent = self.x[:time], self.bent[:time]
        self.states, self.cells = self.states[: time + 1], self.cells[: time + 1]

    def run_back(self, dstates: Tensor, dh: Tensor, dc: Tensor, recurrent: Tensor) -> tuple[Tensor, Tensor]:
        """Fills dx of all steps from the gradients of their states [T, B, H] and of the last h' and c'; returns those
        of the first h and c."""
        self.spend()
        for t in reversed(range(len(dstates))):
            dc = self.backward(t, dh + dstates[t], dc)
            dh = self.x[t] @ recurrent
        return dh, dc


class _Steps(torch.autograd.Function):
    """States [T, B, H] and the last cell [B, H] from the input products [T, B, 4H] and the state before them."""

    @staticmethod
    def forward(
        ctx: FunctionCtx, gates: Tensor, hidden: Tensor, cell: Tensor, recurrent: Tensor
    ) -> tuple[Tensor, Tensor]:
        tape = Tape(len(gates), hidden, cell)
        tape.x.copy_(gates)
        for t in range(len(gates)):
            tape.forward(t, recurrent)
        ctx.save_for_backward(recurrent)
        ctx.tape = tape  # type: ignore[attr-defined]
        # copies: the tape's own tensors, as outputs of a node that holds the tape, would be a cycle that nothing frees
        return tape.states[1:].clone(), tape.cells[-1].clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, dstates: Tensor, dlast: Tensor) -> tuple[Tensor | None, ...]:
        (recurrent,) = ctx.saved_tensors  # type: ignore[attr-defined]
        tape: Tape = ctx.tape  # type: ignore[attr-defined]
        dh, dc = tape.run_back(dstates, torch.zeros_like(dlast), dlast, recurrent)
        drecurrent = tape.x.flatten(0, 1).t() @ tape.states[:-1].flatten(0, 1)
        return tape.x, dh, dc, drecurrent


class Lstm(nn.Module):
    """One layer from inputs of size H to states of size H."""

    def __init__(self, units: int) -> None:
        super().__init__()
        self.input = nn.Linear(units, 4 * units)
        self.recurrent = initial_weight(4 * units, units)
        with torch.no_grad():
            self.input.bias.zero_()
            self.input.bias[units : 2 * units] = 1.0  # an open forget gate, so that the image is remembered at first

    def forward(self, inputs: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        """States [T, B, H] and the last cell [B, H], from inputs [T, B, H] and the state before them."""
        with full_precision(inputs):
            gates = self.input(inputs.to(hidden.dtype))
            states, last = _Steps.apply(gates, hidden, cell, self.recurrent)  # type: ignore[no-untyped-call]
        return states, last


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
    """The caption decoder one step at a time, over tokens that are chosen on the way, trained on the steps it took.

    The steps are taken without a graph and kept on a tape; `features` then makes them one node of the graph and
    computes nothing anew. When rows are dropped a new tape begins, and the gradient of its start flows into the last
    one's end. The weights' gradients are one product each over all steps of all rows.
    """

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
