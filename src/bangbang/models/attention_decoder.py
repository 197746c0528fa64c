"""The recurrence of an attention decoder, over one or many known tokens, with a backward pass of its own.

At each step additive attention (Bahdanau et al. 2015) looks from the top layer's last state h into the memory,

    α_s ∝ exp(v · tanh(k_s + Q h + q) + bias_s)        context = Σ_s α_s m_s

and the context enters the lowest GRU layer beside the last token; each further layer reads the one below. As
tanh(x) = 1 - 2 σ(-2x), and a constant changes no softmax, the energies are taken as -2v · σ(-2 k_s - 2(Q h + q)): on
CPUs σ costs a third of tanh, and there are B·S·H of them at each step. Written out as one function, a step takes far
fewer tensor operations than autograd would record, and the gradients of the memory and of all weights are one product
each for all time steps.

Shapes: B batch, S source length, T time, L layers, H units, M memory size. Time comes first in what is kept.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx, once_differentiable

from bangbang.models.base import TensorState
from bangbang.models.gru import Gates, full_precision, gate_biases, initial_weight, state_first
from bangbang.models.layers import SingleUse
from bangbang.products import add_product, affine


class Weights(NamedTuple):
    query: Tensor  # [H, H] -2Q
    query_bias: Tensor  # [H] -2q
    energy: Tensor  # [H] -2v
    context: Tensor  # [3H, M] the context's part of the lowest layer's input product
    recurrent: Tensor  # [L, 3H, H] gates in the order n, r, z, here alone
    recurrent_bias: Tensor  # [L, 3H] in the same order
    upper: Tensor  # [L-1, 3H, H] the input products of the layers above the lowest
    upper_bias: Tensor  # [L-1, 3H]


class Memory(NamedTuple):
    values: Tensor  # [B, S, M]
    keys: Tensor  # [B, S, H] -2k
    bias: Tensor  # [B, S] 0, and -inf at padding


@dataclass(frozen=True)
class AttentionState(TensorState):
    hidden: Tensor  # [B, L, H] the recurrent layers' states
    memory: Tensor  # [B, S, 2H] what attention reads
    keys: Tensor  # [B, S, H] the memory as attention compares it
    bias: Tensor  # [B, S] 0, and -inf at padding

    @property
    def read(self) -> Memory:
        return Memory(self.memory, self.keys, self.bias)


class Tape(SingleUse):
    """Everything the backward pass needs of at most T steps. Their input products are added to `x[0]`."""

    @torch.no_grad()
    def __init__(self, time: int, start: Tensor, memory: Memory, w: Weights, token_bias: Tensor | None = None) -> None:
        """`token_bias` [3H] if it is not part of the input products."""
        layers, batch, units = start.shape
        new = start.new_empty
        self.masks: Tensor | list[Tensor] | None = None  # [T, L-1, B, H] dropout between layers
        self.states = new(time + 1, layers, batch, units)
        self.states[0] = start
        self.queries = new(time, batch, units)  # -2(Q h + q)
        self.hidden = torch.empty_like(memory.keys)  # [B, S, H] σ(keys + queries) of one step: cheaper made than kept
        self.attention = new(time, *memory.bias.shape)  # [T, B, S] α
        self.contexts = new(time, batch, memory.values.shape[2])
        self.inputs = new(time, layers - 1, batch, units)  # what the upper layers read
        self.buffer = new(layers, time, batch, 4 * units)  # of the gates
        lowest = torch.zeros_like(w.recurrent_bias[0]) if token_bias is None else token_bias
        self.buffer.copy_(gate_biases(torch.cat((lowest[None], w.upper_bias)), w.recurrent_bias)[:, None, None])
        self.x = self.buffer[..., units:]  # [L, T, B, 3H] input products; then gates; dx in the backward pass
        self.gates = [Gates(layer, time=0) for layer in self.buffer]
        self.state = [step.unbind(0) for step in self.states.unbind(0)]  # [T + 1][L] of [B, H]
        # a rollout has several tapes: the backward passes of later ones leave their part of the weights' gradients here
        self.is_first, self.passes = True, list[Gradients]()

    def forward(self, t: int, w: Weights, memory: Memory) -> None:
        h = self.state[t]
        affine(h[-1], w.query, w.query_bias, out=self.queries[t])
        energy = torch.matmul(self.compare(t, memory), w.energy).add_(memory.bias)
        torch.softmax(energy, 1, out=self.attention[t])
        torch.bmm(self.attention[t].unsqueeze(1), memory.values, out=self.contexts[t].unsqueeze(1))
        add_product(self.x[0, t], self.contexts[t], w.context)
        for layer, gates in enumerate(self.gates):
            if layer:
                below, read = self.state[t + 1][layer - 1], self.inputs[t, layer - 1]
                read.copy_(below if self.masks is None else below * self.masks[t][layer - 1])
                add_product(self.x[layer, t], read, w.upper[layer - 1])
            add_product(gates.g[t], h[layer], w.recurrent[layer])
            gates.forward(t, h[layer], self.state[t + 1][layer])

    def outputs(self) -> tuple[Tensor, Tensor]:
        """States and contexts as copies: the tape's own tensors, as outputs of a node that holds the tape, would be a
        cycle that nothing frees."""
        return self.states[1:].clone(), self.contexts.clone()

    def cut(self, time: int) -> None:
        """Forget the room for steps after the first `time`."""
        self.states, self.attention, self.contexts = (
            self.states[: time + 1],
            self.attention[:time],
            self.contexts[:time],
        )
        self.inputs, self.x, self.buffer = self.inputs[:time], self.x[:, :time], self.buffer[:, :time]

    def compare(self, t: int, memory: Memory) -> Tensor:
        return torch.add(memory.keys, self.queries[t].unsqueeze(1), out=self.hidden).sigmoid_()


class Gradients:
    """The backward pass over a tape: step by step what is recurrent, at the end what is not."""

    def __init__(self, tape: Tape, w: Weights, memory: Memory, dlast: Tensor) -> None:
        """`dlast` [L, B, H] reaches the last states from outside."""
        tape.spend()
        self.tape, self.w, self.memory = tape, w, memory
        self.dh = list(dlast.clone().unbind(0))  # of each layer's state, carried back in time
        self.dcontexts = torch.empty_like(tape.contexts)
        self.dquery = torch.empty_like(tape.states[1:, -1])
        self.dkeys = torch.zeros_like(memory.keys)  # without their factor -2v
        self.dhidden = torch.empty_like(memory.keys)
        self.dv = torch.zeros_like(w.energy)

    def step(self, t: int, upstream: Tensor, dcontext: Tensor) -> None:
        """One step back; `upstream` [L, B, H] reaches the states before it from outside."""
        tape, w, dx = self.tape, self.w, self.tape.x
        for layer in reversed(range(len(self.dh))):
            gates = tape.gates[layer]
            carried = gates.backward(t, self.dh[layer], tape.state[t + 1][layer], upstream[layer])
            self.dh[layer] = carried.addmm_(gates.g[t], w.recurrent[layer])
            if layer:
                below = dx[layer, t] @ w.upper[layer - 1]
                self.dh[layer - 1].add_(below if tape.masks is None else below * tape.masks[t][layer - 1])
        torch.addmm(dcontext, dx[0, t], w.context, out=self.dcontexts[t])
        dattention = torch.bmm(self.memory.values, self.dcontexts[t].unsqueeze(2)).squeeze(2)  # [B, S]
        denergy = torch._softmax_backward_data(dattention, tape.attention[t], 1, dattention.dtype)
        hidden = tape.compare(t, self.memory)
        self.dv.addmv_(hidden.flatten(0, 1).t(), denergy.flatten())
        # -2v, by which all of dhidden is to be multiplied, is left to the sums of it
        dhidden = torch.ops.aten.sigmoid_backward.grad_input(
            denergy.unsqueeze(2).expand_as(hidden), hidden, grad_input=self.dhidden
        )
        self.dkeys.add_(dhidden)
        torch.sum(dhidden, 1, out=self.dquery[t]).mul_(w.energy)
        self.dh[-1].addmm_(self.dquery[t], w.query)

    def values(self) -> Tensor:
        """Of the memory's values, Σ_t α_t ⊗ dcontext_t.  [B, S, M]"""
        return torch.bmm(self.tape.attention.permute(1, 2, 0), self.dcontexts.transpose(0, 1))

    def keys(self) -> Tensor:
        """Of the memory as attention compares it.  [B, S, H]"""
        return self.dkeys.mul_(self.w.energy)


def weight_gradients(passes: list[Gradients]) -> Weights:
    """Of all weights, from the backward passes over all tapes: one product each, however many the tapes are."""

    def joined(pick: Callable[[Gradients], Tensor]) -> Tensor:
        """What each pass has of every step and row, [T, B, P] → [N, P]."""
        parts = [pick(each).flatten(0, 1) for each in passes]
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def per_layer(pick: Callable[[Gradients, int], Tensor], layers: range) -> list[Tensor]:
        return [joined(lambda each, layer=layer: pick(each, layer)) for layer in layers]  # type: ignore[misc]

    layers = range(len(passes[0].dh))
    before = per_layer(lambda each, layer: each.tape.states[:-1, layer], layers)
    gates = per_layer(lambda each, layer: each.tape.buffer[layer], layers)  # [N, 4H]
    units = gates[0].shape[1] // 4
    dg, dx = [part[:, : 3 * units] for part in gates], [part[:, units:] for part in gates]
    dbias = [part.sum(0) for part in gates]
    read = per_layer(lambda each, layer: each.tape.inputs[:, layer - 1], layers[1:])
    dquery = joined(lambda each: each.dquery)
    upper = [above.t() @ below for above, below in zip(dx[1:], read, strict=True)]
    w = passes[0].w
    return Weights(
        dquery.t() @ before[-1],
        dquery.sum(0),
        torch.stack([each.dv for each in passes]).sum(0),
        dx[0].t() @ joined(lambda each: each.tape.contexts),
        torch.stack([above.t() @ below for above, below in zip(dg, before, strict=True)]),
        torch.stack([part[: 3 * units] for part in dbias]),
        torch.stack(upper) if upper else torch.zeros_like(w.upper),
        torch.stack([part[units:] for part in dbias[1:]]) if upper else torch.zeros_like(w.upper_bias),
    )


class _Steps(torch.autograd.Function):
    """The steps of a tape as a node of the graph. They are taken here, or were `taken` already, one by one."""

    @staticmethod
    def forward(
        ctx: FunctionCtx, token_gates: Tensor, start: Tensor, tape: Tape, taken: bool, *parts: Tensor
    ) -> tuple[Tensor, Tensor]:
        if not taken:
            tape.x[0].add_(token_gates)
            for t in range(len(token_gates)):
                tape.forward(t, Weights(*parts[3:]), Memory(*parts[:3]))
        ctx.save_for_backward(*parts)
        ctx.tape = tape  # type: ignore[attr-defined]
        return tape.outputs()

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, dstates: Tensor, dcontexts: Tensor) -> tuple[Tensor | None, ...]:
        parts: tuple[Tensor, ...] = ctx.saved_tensors  # type: ignore[attr-defined]
        tape: Tape = ctx.tape  # type: ignore[attr-defined]
        gradients = Gradients(tape, Weights(*parts[3:]), Memory(*parts[:3]), dstates[-1])
        before = [torch.zeros_like(dstates[0]), *dstates[:-1]]
        for t in reversed(range(len(dstates))):
            gradients.step(t, before[t], dcontexts[t])
        tape.passes.append(gradients)
        weights: Iterable[Tensor | None] = [None] * len(Weights._fields)
        if tape.is_first:  # its pass is the last: those of later tapes end where it ends
            weights = weight_gradients(tape.passes)
            tape.passes.clear()
        dstart = torch.stack(gradients.dh)
        return tape.x[0], dstart, None, None, gradients.values(), gradients.keys(), None, *weights


class AttentionDecoder(nn.Module):
    def __init__(self, memory_size: int, units: int, layers: int) -> None:
        super().__init__()
        self.key = initial_weight(units, memory_size)
        self.query = initial_weight(units, units)
        self.query_bias = nn.Parameter(torch.zeros(units))
        self.energy = nn.Parameter(torch.empty(units).uniform_(-(units**-0.5), units**-0.5))
        self.context = initial_weight(3 * units, memory_size)
        self.recurrent = initial_weight(layers, 3 * units, units)
        self.recurrent_bias = nn.Parameter(torch.zeros(layers, 3 * units))
        self.upper = initial_weight(layers - 1, 3 * units, units)
        self.upper_bias = nn.Parameter(torch.zeros(layers - 1, 3 * units))

    def keys(self, values: Tensor) -> Tensor:
        """-2k, the memory as attention compares it, computed once per input.  [B, S, M] → [B, S, H]"""
        return torch.matmul(values, -2 * self.key.t())

    def weights(self) -> Weights:
        return Weights(
            -2 * self.query,
            -2 * self.query_bias,
            -2 * self.energy,
            self.context,
            state_first(self.recurrent, 1),
            state_first(self.recurrent_bias, 1),
            self.upper,
            self.upper_bias,
        )

    def forward(
        self, token_gates: Tensor, start: Tensor, memory: Memory, masks: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """States [T, L, B, H] and contexts [T, B, M] from the tokens' input products [T, B, 3H] and start [L, B, H]."""
        precision = self.recurrent.dtype
        with full_precision(token_gates):
            token_gates, start = token_gates.to(precision), start.to(precision)
            memory = Memory(*(part.to(precision) for part in memory))
            weights = self.weights()
            tape = Tape(len(token_gates), start.detach(), memory, weights)
            tape.masks = masks
            return steps_of(tape, token_gates, start, memory, weights, taken=False)


def steps_of(
    tape: Tape, token_gates: Tensor, start: Tensor, memory: Memory, weights: Weights, taken: bool
) -> tuple[Tensor, Tensor]:
    """What the decoder gives, as a node of the graph; `taken`: the tape's steps were taken already, with these very
    inputs, and the values of `token_gates` are not read."""
    states, contexts = _Steps.apply(token_gates, start, tape, taken, *memory, *weights)  # type: ignore[no-untyped-call]
    return states, contexts
