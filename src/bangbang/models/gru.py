"""Gated recurrent units with a backward pass of their own: few tensor operations per time step.

The unit is the one of cuDNN and `torch.nn.GRU`, whose reset gate comes after the recurrent product, so that one matrix
product serves all three gates (the paper's reference, Cho et al. 2014, resets before it):

    r = σ(x_r + g_r)      z = σ(x_z + g_z)      n = tanh(x_n + r ⊙ g_n)      h' = (1 - z) ⊙ n + z ⊙ h

with x = W x_t + b from the input and g = U h + c from the last state. In parameters, gates lie side by side in the
order r, z, n.

Shapes: B batch, T time, H units, I input size, N = any leading dimensions.
"""

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx, once_differentiable
from torch.nn import functional as F

from bangbang.models.layers import SingleUse

# Added to x_z where there is only padding: z is then exactly 1, so h' = h and no gradient flows.
CLOSED_GATE = 1e4


class Gates(SingleUse):
    """The gates of T updates of a GRU, in one buffer [..., T, ..., 4H] that holds products first, then gates, then
    gradients: new memory of this size would cost about as much as computing with it.

    Its four parts are g_n, r, z, n. So the products with the input (r, z, n) are the last three of them and those with
    the last state (n, r, z) the first three: both are added into the same memory, and both gradients are read there.
    """

    def __init__(self, buffer: Tensor, time: int) -> None:
        units = buffer.shape[-1] // 4
        self.g, self.x = buffer[..., : 3 * units].unbind(time), buffer[..., units:].unbind(time)
        self.rz = buffer[..., units : 3 * units].unbind(time)
        self.g_n, self.r, self.z, self.n = (part.unbind(time) for part in buffer.chunk(4, -1))

    def forward(self, t: int, h: Tensor, new: Tensor) -> None:
        """Turns the sums of products of step t into gates, and fills h' from them and h [N, H]."""
        self.rz[t].sigmoid_()
        self.n[t].addcmul_(self.r[t], self.g_n[t]).tanh_()
        torch.lerp(self.n[t], h, self.z[t], out=new)

    def backward(self, t: int, dh: Tensor, new: Tensor, upstream: Tensor) -> Tensor:
        """Turns the gates of step t into gradients of the sums they were made of, from the gradient dh of h'; returns
        the direct part z ⊙ dh of the gradient of h, added to what reaches h from `upstream`.

        Since h' - n = z (h - n), the gradient of z before its σ is (1 - z) dh ⊙ (h' - n).
        """
        g_n, r, z, n = self.g_n[t], self.r[t], self.z[t], self.n[t]
        carried = torch.addcmul(upstream, dh, z)
        remaining = torch.addcmul(dh, dh, z, value=-1)
        torch.mul(new - n, remaining, out=z)
        dn = torch.ops.aten.tanh_backward.grad_input(remaining, n, grad_input=n)
        dr = dn * g_n
        torch.mul(dn, r, out=g_n)
        torch.ops.aten.sigmoid_backward.grad_input(dr, r, grad_input=r)
        return carried


def gate_biases(inputs: Tensor, recurrent: Tensor) -> Tensor:
    """What the four parts of the gates' buffer begin with: [..., 3H] b in the order r, z, n and c in the order n, r, z.

    The reset gate multiplies c_n and must not touch b_n, so these stay apart.
    """
    units = inputs.shape[-1] // 3
    return F.pad(inputs, (units, 0)) + F.pad(recurrent, (0, units))


def state_first(recurrent: Tensor, dim: int) -> Tensor:
    """Recurrent weights or biases, whose gates lie in the order r, z, n along `dim`, in the order n, r, z."""
    return recurrent.roll(recurrent.shape[dim] // 3, dim)


def in_both_directions(forth: Tensor, back: Tensor) -> Tensor:
    """Two of [B, T, P] as [2, T, B, P], the second with time reversed."""
    return torch.stack((forth.transpose(0, 1), back.transpose(0, 1).flip(0)))


def outer_products(left: Tensor, right: Tensor) -> Tensor:
    """Σ_n l_n r_nᵀ of each direction, [2, N, P], [2, N, Q] → [2, P, Q]. oneDNN does one such product at twice the rate
    of two at once."""
    return torch.stack([ours.t() @ theirs for ours, theirs in zip(left, right, strict=True)])


class _Layer(torch.autograd.Function):
    """A bidirectional layer: states [B, T, 2H] and the backward direction's last state [B, H].

    From inputs [B, T, I], W [2, 3H, I] in the order r, z, n, U [2, 3H, H] in the order n, r, z, the gates' biases
    [2, 4H] and padding [B, T, 1], 1 where there is nothing to read. Both directions go through time together, as the
    leading dimension of all that is kept. The products with W and all weight gradients are taken once for all time
    steps.
    """

    @staticmethod
    def forward(
        ctx: FunctionCtx, inputs: Tensor, w: Tensor, u: Tensor, biases: Tensor, padding: Tensor
    ) -> tuple[Tensor, Tensor]:
        (batch, time, _), units = inputs.shape, u.shape[2]
        both = in_both_directions(inputs, inputs).flatten(1, 2)  # [2, T·B, I]
        buffer = inputs.new_empty(2, time, batch, 4 * units)
        torch.bmm(both, w.transpose(1, 2), out=buffer.flatten(1, 2)[..., units:])
        buffer[..., 2 * units : 3 * units].add_(in_both_directions(padding, padding), alpha=CLOSED_GATE)
        gates = Gates(buffer, time=1)
        kept = inputs.new_empty(2, time + 1, batch, units)
        kept[:, 0] = 0
        states, transposed = kept.unbind(1), u.transpose(1, 2)
        bias_n, bias_x = biases[:, None, :units], biases[:, None, units:]
        for t in range(time):
            # biases come in here, where a step's sums are in a cache: a pass over all of the buffer takes longer
            gates.g_n[t].copy_(bias_n)
            gates.x[t].add_(bias_x)
            if t:  # the first state is 0
                gates.g[t].baddbmm_(states[t], transposed)
            gates.forward(t, states[t], states[t + 1])
        ctx.save_for_backward(both, w, u)
        ctx.kept, ctx.gates, ctx.buffer = kept, gates, buffer  # type: ignore[attr-defined]
        forth, back = kept[0, 1:], kept[1, 1:].flip(0)
        return torch.cat((forth.transpose(0, 1), back.transpose(0, 1)), -1), kept[1, -1].clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, dstates: Tensor, dlast: Tensor) -> tuple[Tensor | None, ...]:
        both, w, u = ctx.saved_tensors  # type: ignore[attr-defined]
        kept, gates, buffer = ctx.kept, ctx.gates, ctx.buffer  # type: ignore[attr-defined]
        gates.spend()
        (batch, time), units = dstates.shape[:2], u.shape[2]
        upstream = in_both_directions(dstates[..., :units], dstates[..., units:]).unbind(1)
        states = kept.unbind(1)
        dh = upstream[-1]
        dh[1].add_(dlast)
        for t in reversed(range(time)):
            dh = gates.backward(t, dh, states[t + 1], upstream[t - 1])
            if t:  # nobody asks for the gradient of the first state
                dh.baddbmm_(gates.g[t], u)
        flat = buffer.flatten(1, 2)  # [2, T·B, 4H]
        dg, dx = flat[..., : 3 * units], flat[..., units:]
        dw, du = outer_products(dx, both), outer_products(dg, kept[:, :-1].flatten(1, 2))
        dboth = torch.bmm(dx, w).view(2, time, batch, -1)
        dinputs = dboth[0].add_(dboth[1].flip(0)).transpose(0, 1)
        # a product with ones takes half the time of a sum
        dbiases = torch.bmm(flat.new_ones(2, 1, time * batch), flat).squeeze(1)
        return dinputs, dw, du, dbiases, None


def full_precision(inputs: Tensor) -> torch.autocast:
    """Recurrences run at the precision of their weights: rounding to 8 bits would pile up over the time steps."""
    return torch.autocast(inputs.device.type, enabled=False)


def initial_weight(*shape: int) -> nn.Parameter:
    """Uniform in ±1/√fan-in, as torch.nn.GRU and torch.nn.Linear begin."""
    bound = shape[-1] ** -0.5
    return nn.Parameter(torch.empty(shape).uniform_(-bound, bound))


class BidirectionalGru(nn.Module):
    """One layer over the whole input in both directions, [B, T, I] → [B, T, 2H]; padding at the end changes nothing."""

    def __init__(self, inputs: int, units: int) -> None:
        super().__init__()
        self.input = initial_weight(2, 3 * units, inputs)
        self.input_bias = nn.Parameter(torch.zeros(2, 3 * units))
        self.recurrent = initial_weight(2, 3 * units, units)
        self.recurrent_bias = nn.Parameter(torch.zeros(2, 3 * units))

    def forward(self, inputs: Tensor, padding: Tensor) -> tuple[Tensor, Tensor]:
        """States [B, T, 2H] and the backward direction's last state [B, H]; `padding` [B, T] is true where it is."""
        precision = self.input.dtype
        with full_precision(inputs):
            states, last = _Layer.apply(  # type: ignore[no-untyped-call]
                inputs.to(precision),
                self.input,
                state_first(self.recurrent, 1),
                gate_biases(self.input_bias, state_first(self.recurrent_bias, 1)),
                padding.unsqueeze(-1).to(precision),
            )
        return states, last
