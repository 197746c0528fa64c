"""Small parts of models: dropout whose noise is cheap on CPUs, linear layers whose results are known already.

And a guard for what a backward pass turns into gradients in place.
"""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx, once_differentiable


class SingleUse:
    """Autograd would run a second backward pass (`retain_graph`) over what the first one overwrote, silently wrong."""

    spent = False

    def spend(self) -> None:
        """Called when a backward pass begins."""
        if self.spent:
            raise RuntimeError(
                "a second backward pass through these recurrent steps is impossible: the first one overwrote what they "
                "kept; run the forward pass again, or add the losses and call backward once"
            )
        self.spent = True


LEVELS = 2**16


def keep_mask(like: Tensor, rate: float) -> Tensor:
    """1/(1 - rate) where an activation is kept, 0 where it is dropped, from torch's global generator.

    `torch.nn.functional.dropout` draws one Bernoulli variable per element, which on a CPU takes four times as long as
    all the rest. Here one 64-bit draw serves four elements, so the rate is rounded to a multiple of 1/65536 below 1
    and the scale is that of the rounded rate.
    """
    dropped = min(round(rate * LEVELS), LEVELS - 1)  # a rate below 1 keeps something
    count = like.numel()
    bits = torch.empty((count + 3) // 4, dtype=torch.int64, device=like.device).random_(-(2**63), None)
    kept = bits.view(torch.int16)[:count].view(like.shape) >= dropped - LEVELS // 2
    return kept.to(like.dtype).mul_(LEVELS / (LEVELS - dropped))


def noted_dropout(activations: Tensor, rate: float, masks: list[Tensor]) -> Tensor:
    """Dropout whose mask is added to `masks`; none at a rate of 0."""
    if not rate:
        return activations
    masks.append(keep_mask(activations, rate))
    return activations * masks[-1]


class Dropout(nn.Module):
    def __init__(self, rate: float) -> None:
        super().__init__()
        if not 0 <= rate < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, not {rate}")
        self.rate = rate

    def forward(self, activations: Tensor) -> Tensor:
        if not self.training or self.rate == 0:
            return activations
        return activations * keep_mask(activations, self.rate)


class _Known(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, inputs: Tensor, weight: Tensor, bias: Tensor, result: Tensor, shape: str) -> Tensor:
        ctx.save_for_backward(inputs, weight, *((result,) if shape == "tanh" else ()))
        return result.view_as(result)

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, upstream: Tensor) -> tuple[Tensor | None, ...]:
        inputs, weight, *result = ctx.saved_tensors  # type: ignore[attr-defined]
        for y in result:
            upstream = torch.ops.aten.tanh_backward(upstream, y)
        flat = upstream.flatten(0, -2)
        dweight = flat.t() @ inputs.flatten(0, -2)
        return (flat @ weight).view_as(inputs), dweight, flat.sum(0), None, None


def known_linear(
    inputs: Tensor, layer: torch.nn.Linear, result: Tensor, shape: Literal["linear", "tanh"] = "linear"
) -> Tensor:
    """`result` [..., Q] as layer(inputs [..., P]), or its tanh, which it is; gradients reach inputs and layer."""
    known: Tensor = _Known.apply(inputs, layer.weight, layer.bias, result, shape)  # type: ignore[no-untyped-call]
    return known
