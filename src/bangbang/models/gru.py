"""Gated recurrent units with a backward pass of their own: few tensor operations per time step.

The unit is the one of cuDNN and `torch.nn.GRU`, whose reset gate comes after the recurrent product, so that one matrix
product serves all three gates (the paper's reference, Cho et al. 2014, resets before it):

    r = σ(x_r + g_r)      z = σ(x_z + g_z)      n = tanh(x_n + r ⊙ g_n)      h' = (1 - z) ⊙ n + z ⊙ h

with x = W x_t + b from the input and g = U h + c from the last state. Gates lie side by side in the order r, z, n.

Shapes: B batch, T time, H units, I input size, N = any leading dimensions.
"""

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx, once_differentiable

# Added to x_z where there is only padding: z is then exactly 1, so h' = h and no gradient flows.
CLOSED_GATE = 1e4


class Gates:
    """The gates of T updates of a GRU: their buffers, cut once into one view per time step and gate.

    Time is dimension `time` of x [..., T, ..., 3H], whose memory also takes dx in the backward pass: new memory of this
    size would cost about as much as computing with it.
    """

    def __init__(self, x: Tensor, time: int) -> None:
        units = x.shape[-1] // 3
        rz, n, g_n = (x.new_empty(*x.shape[:-1], size) for size in (2 * units, units, units))
        self.units, self.r_all = units, rz[..., :units]
        self.x_rz, self.dr, self.dz, self.x_n = (
            x[..., start:end].unbind(time)
            for start, end in ((0, 2 * units), (0, units), (units, 2 * units), (2 * units, 3 * units))
        )
        self.rz, self.r, self.z = (part.unbind(time) for part in (rz, self.r_all, rz[..., units:]))
        self.n, self.g_n = n.unbind(time), g_n.unbind(time)

    def forward(self, t: int, g: Tensor, h: Tensor, new: Tensor) -> None:
        """Fills h' from g [N, 3H], of which the part g_n lies in `self.g_n[t]`, and h [N, H]."""
        torch.add(self.x_rz[t], g[..., : 2 * self.units], out=self.rz[t]).sigmoid_()
        torch.addcmul(self.x_n[t], self.r[t], self.g_n[t], out=self.n[t]).tanh_()
        torch.lerp(self.n[t], h, self.z[t], out=new)

    def backward(self, t: int, dh: Tensor, new: Tensor, dg: Tensor) -> Tensor:
        """Fills dx and dg [N, 3H] from the gradient dh of h'; returns the direct part z ⊙ dh of the gradient of h.

        Since h' - n = z (h - n), the gradient of z before its σ is (1 - z) dh ⊙ (h' - n).
        """
        dr, dz, dn, n = self.dr[t], self.dz[t], self.x_n[t], self.n[t]
        carried = dh * self.z[t]
        remaining = dh - carried
        torch.mul(new - n, remaining, out=dz)
        torch.ops.aten.tanh_backward.grad_input(remaining, n, grad_input=dn)
        torch.ops.aten.sigmoid_backward.grad_input(dn * self.g_n[t], self.r[t], grad_input=dr)
        dg[..., : 2 * self.units].copy_(self.x_rz[t])
        torch.mul(dn, self.r[t], out=dg[..., 2 * self.units :])
        return carried


class _Layer(torch.autograd.Function):
    """A bidirectional layer: states [T, B, 2H] and the backward direction's last state [B, H].

    From inputs [T, B, I], W [2, 3H, I], b [2, 3H], U [2, 3H, H], c [2, 3H] and padding [T, B, 1], 1 where there is
    nothing to read. Both directions go through time together, as the leading dimension of all that is kept. The
    products with W and all weight gradients are taken once for all time steps. Biases join each step's recurrent
    product, which is small enough to stay in a cache; only b_n, which the reset gate must not touch, is added to all x.
    """

    @staticmethod
    def forward(
        ctx: FunctionCtx, inputs: Tensor, w: Tensor, b: Tensor, u: Tensor, c: Tensor, padding: Tensor
    ) -> tuple[Tensor, Tensor]:
        (time, batch, _), units = inputs.shape, u.shape[2]
        bias = torch.cat((b[:, : 2 * units] + c[:, : 2 * units], c[:, 2 * units :]), 1).unsqueeze(1)
        both = torch.stack((inputs, inputs.flip(0))).flatten(1, 2)  # [2, T·B, I]
        x = torch.bmm(both, w.transpose(1, 2)).view(2, time, batch, 3 * units)
        x[..., units : 2 * units].add_(torch.stack((padding, padding.flip(0))), alpha=CLOSED_GATE)
        x[..., 2 * units :].add_(b[:, None, None, 2 * units :])
        gates = Gates(x, time=1)
        kept = x.new_empty(2, time + 1, batch, units)
        kept[:, 0] = 0
        states, transposed = kept.unbind(1), u.transpose(1, 2)
        for t in range(time):
            g = torch.baddbmm(bias, states[t], transposed)
            gates.g_n[t].copy_(g[..., 2 * units :])
            gates.forward(t, g, states[t], states[t + 1])
        ctx.save_for_backward(both, w, u)
        ctx.kept, ctx.gates, ctx.x = kept, gates, x  # type: ignore[attr-defined]
        return torch.cat((kept[0, 1:], kept[1, 1:].flip(0)), -1), kept[1, -1].clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, dstates: Tensor, dlast: Tensor) -> tuple[Tensor | None, ...]:
        both, w, u = ctx.saved_tensors  # type: ignore[attr-defined]
        kept, gates, dx = ctx.kept, ctx.gates, ctx.x  # type: ignore[attr-defined]
        (time, batch), units = dstates.shape[:2], u.shape[2]
        upstream = torch.stack((dstates[..., :units], dstates[..., units:].flip(0))).unbind(1)
        states = kept.unbind(1)
        dh, dg = torch.stack((torch.zeros_like(dlast), dlast)), torch.empty_like(dx[:, 0])
        for t in reversed(range(time)):
            dh = gates.backward(t, dh.add_(upstream[t]), states[t + 1], dg)
            dh.baddbmm_(dg, u)
        flat = dx.flatten(1, 2)  # [2, T·B, 3H]
        dw, db = torch.bmm(flat.transpose(1, 2), both), flat.sum(1)
        dboth = torch.bmm(flat, w).view(2, time, batch, -1)
        dx[..., 2 * units :].mul_(gates.r_all)  # from here on it holds dg
        du = torch.bmm(flat.transpose(1, 2), kept[:, :-1].flatten(1, 2))
        dc = torch.cat((db[:, : 2 * units], flat[..., 2 * units :].sum(1)), 1)
        return dboth[0].add_(dboth[1].flip(0)), dw, db, du, dc, None


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
                inputs.transpose(0, 1).to(precision),
                self.input,
                self.input_bias,
                self.recurrent,
                self.recurrent_bias,
                padding.t().unsqueeze(-1).to(precision),
            )
        return states.transpose(0, 1), last
