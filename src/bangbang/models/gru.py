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


def gates_forward(x: Tensor, g: Tensor, h: Tensor, rz: Tensor, n: Tensor, new: Tensor) -> None:
    """One GRU update from x, g [N, 3H] and h [N, H]: fills r and z side by side [N, 2H], n [N, H] and h' [N, H]."""
    units = h.shape[-1]
    torch.add(x[..., : 2 * units], g[..., : 2 * units], out=rz).sigmoid_()
    torch.addcmul(x[..., 2 * units :], rz[..., :units], g[..., 2 * units :], out=n).tanh_()
    torch.lerp(n, h, rz[..., units:], out=new)


def gates_backward(dh: Tensor, rz: Tensor, n: Tensor, g_n: Tensor, h: Tensor, dx: Tensor, dg: Tensor) -> Tensor:
    """Fills dx and dg [N, 3H] from the gradient dh of h'; returns the direct part z ⊙ dh of the gradient of h."""
    units = h.shape[-1]
    r, z = rz[..., :units], rz[..., units:]
    dr, dz, dn = (dx[..., gate * units : (gate + 1) * units] for gate in range(3))
    carried = dh * z
    torch.ops.aten.tanh_backward.grad_input(dh - carried, n, grad_input=dn)
    torch.ops.aten.sigmoid_backward.grad_input((h - n).mul_(dh), z, grad_input=dz)
    torch.ops.aten.sigmoid_backward.grad_input(dn * g_n, r, grad_input=dr)
    dg[..., : 2 * units].copy_(dx[..., : 2 * units])
    torch.mul(dn, r, out=dg[..., 2 * units :])
    return carried


class _Step(torch.autograd.Function):
    """h' from x [B, 3H], h [B, H] and the recurrent U [3H, H], c [3H]."""

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, h: Tensor, u: Tensor, c: Tensor) -> Tensor:
        g = torch.addmm(c, h, u.t())
        rz, n, new = h.new_empty(len(h), 2 * h.shape[1]), torch.empty_like(h), torch.empty_like(h)
        gates_forward(x, g, h, rz, n, new)
        ctx.save_for_backward(rz, n, g, h, u)
        return new

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, dh: Tensor) -> tuple[Tensor, ...]:
        rz, n, g, h, u = ctx.saved_tensors  # type: ignore[attr-defined]
        dx, dg = torch.empty_like(g), torch.empty_like(g)
        carried = gates_backward(dh, rz, n, g[:, 2 * h.shape[1] :], h, dx, dg)
        return dx, carried.addmm_(dg, u), dg.t() @ h, dg.sum(0)


class _Layer(torch.autograd.Function):
    """All states [K, T, B, H] of K independent recurrences that start at zero.

    From inputs [K, T, B, I], W [K, 3H, I], b [K, 3H], U [K, 3H, H], c [K, 3H] and padding [K, T, B, 1], 1 where there
    is nothing to read. The products with W and all weight gradients are taken once for all time steps.
    """

    @staticmethod
    def forward(
        ctx: FunctionCtx, inputs: Tensor, w: Tensor, b: Tensor, u: Tensor, c: Tensor, padding: Tensor
    ) -> Tensor:
        layers, time, batch, _ = inputs.shape
        units = u.shape[2]
        x = torch.baddbmm(b.unsqueeze(1), inputs.flatten(1, 2), w.transpose(1, 2)).view(layers, time, batch, 3 * units)
        x[..., units : 2 * units].add_(padding, alpha=CLOSED_GATE)
        states = x.new_zeros(layers, time + 1, batch, units)  # states[:, 0] is the zero start
        rz = x.new_empty(layers, time, batch, 2 * units)
        n, g_n = x.new_empty(2, layers, time, batch, units)
        bias, transposed = c.unsqueeze(1), u.transpose(1, 2)
        for t in range(time):
            g = torch.baddbmm(bias, states[:, t], transposed)
            gates_forward(x[:, t], g, states[:, t], rz[:, t], n[:, t], states[:, t + 1])
            g_n[:, t] = g[..., 2 * units :]
        ctx.save_for_backward(inputs, w, u, states, rz, n, g_n)
        return states[:, 1:]

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, dstates: Tensor) -> tuple[Tensor | None, ...]:
        inputs, w, u, states, rz, n, g_n = ctx.saved_tensors  # type: ignore[attr-defined]
        dx, dg = n.new_empty(2, *n.shape[:3], u.shape[1])
        dh = torch.zeros_like(states[:, 0])
        for t in reversed(range(n.shape[1])):
            dh.add_(dstates[:, t])
            dh = gates_backward(dh, rz[:, t], n[:, t], g_n[:, t], states[:, t], dx[:, t], dg[:, t])
            dh.baddbmm_(dg[:, t], u)
        dx, dg = dx.flatten(1, 2), dg.flatten(1, 2)  # [K, T·B, 3H]
        dw = torch.bmm(dx.transpose(1, 2), inputs.flatten(1, 2))
        du = torch.bmm(dg.transpose(1, 2), states[:, :-1].flatten(1, 2))
        return torch.bmm(dx, w).view_as(inputs), dw, dx.sum(1), du, dg.sum(1), None


def full_precision(inputs: Tensor) -> torch.autocast:
    """Recurrences run at the precision of their weights: rounding to 8 bits would pile up over the time steps."""
    return torch.autocast(inputs.device.type, enabled=False)


def initial_weight(*shape: int) -> nn.Parameter:
    """Uniform in ±1/√fan-in, as torch.nn.GRU and torch.nn.Linear begin."""
    bound = shape[-1] ** -0.5
    return nn.Parameter(torch.empty(shape).uniform_(-bound, bound))


class GruCell(nn.Module):
    """One step of a GRU whose input product x = W x_t + b is computed by the caller."""

    def __init__(self, units: int) -> None:
        super().__init__()
        self.recurrent = initial_weight(3 * units, units)
        self.bias = nn.Parameter(torch.zeros(3 * units))

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        with full_precision(x):
            new: Tensor = _Step.apply(x.to(h.dtype), h, self.recurrent, self.bias)
        return new


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
        forwards = inputs.transpose(0, 1).to(self.input.dtype)  # [T, B, I]
        closed = padding.t().unsqueeze(-1).to(self.input.dtype)  # [T, B, 1]
        with full_precision(inputs):
            states: Tensor = _Layer.apply(
                torch.stack((forwards, forwards.flip(0))),
                self.input,
                self.input_bias,
                self.recurrent,
                self.recurrent_bias,
                torch.stack((closed, closed.flip(0))),
            )
        joined = torch.cat((states[0], states[1].flip(0)), -1).transpose(0, 1)  # [B, T, 2H]
        return joined, states[1, -1]
