"""Log-probabilities of given tokens under an output layer, without ever keeping its [N, V] logits.

Three kinds of targets have a score for each position:

    c · log p(token)            one token          gradient of the logits: c · (onehot(token) - p)
    Σ_k c_k · log p(token_k)    weighted tokens                            Σ_k c_k · (onehot(token_k) - p)
    c · log P, P = Σ_k p(token_k)   a set of them                          c · (Σ_k p(token_k)/P · onehot(token_k) - p)

Smoothed by ε, the score is 1 - ε of that and ε of c times the mean log p over the M tokens that can be generated, whose
gradient is c · (1/M - p) there. The mean takes no product: it is the mean logit less log Σ exp.

The gradients are formed chunk of rows by chunk of rows while the logits are at hand, so a training pass multiplies by
the [V, D] weights three times (forward and two for the gradients), not four, and what is stored between the passes is
gradients of the size of the parameters.

Shapes: N positions, n of them in a chunk, K tokens per position, D features, V vocabulary.
"""

import math

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

from bangbang.contracts import Scored
from bangbang.errors import InputError
from bangbang.heads.output_layer import OutputLayer, chunk_rows
from bangbang.heads.targets import Gradients, Targets, logit_gradients_, set_log_probs, softmax_, token_log_probs

ENTROPIES = 16  # rows whose entropy is taken, spread evenly: a pass over so few costs nothing, one over all would


class Pass:
    """One pass over all rows, chunk by chunk."""

    def __init__(self, layer: OutputLayer, features: Tensor, needed: tuple[bool, bool, bool] | None) -> None:
        """`needed`: whose gradients are; None if no gradients at all."""
        self.layer, self.features = layer.for_products(), features
        self.gradients = None if needed is None else Gradients(features, layer, needed)

    def run(self, targets: Targets) -> tuple[Tensor, Tensor]:
        """log p of every token, or of every set, and the entropies of some rows."""
        layer, count = self.layer, len(self.features)
        chunks = max(1, math.ceil(count / chunk_rows(len(layer.weight))))
        size = max(1, math.ceil(count / chunks))  # even chunks: a small last one would multiply at a lower rate
        stride = max(1, math.ceil(count / ENTROPIES))
        buffer = layer.buffer(size)
        slopes = layer.buffer(size) if self.gradients is not None and layer.cap is not None else None
        log_p, entropies = [], []
        for start in range(0, max(1, count), size):  # at least once: no rows give gradients of zero
            rows = slice(start, min(start + size, count))
            part = slice(0, rows.stop - start)
            p = layer.chunk_logits(self.features[rows], buffer[part], None if slopes is None else slopes[part])
            means = softmax_(layer, p, targets.smoothing > 0)
            entropies.append(torch.special.entr(p[-start % stride :: stride]).sum(1))  # rows 0, stride, 2 · stride, ...
            log_p.append(self.score(rows, p, None if slopes is None else slopes[part], targets.rows(rows), means))
        return torch.cat(log_p), torch.cat(entropies)

    def score(self, rows: slice, p: Tensor, slopes: Tensor | None, targets: Targets, means: Tensor | None) -> Tensor:
        """log p of a chunk's tokens or sets, smoothed where there are `means`; adds their part of the gradients."""
        (tokens, c, as_set, smoothing), features, layer = targets, self.features[rows], self.layer
        if tokens.ndim == 1:
            log_p = token_log_probs(layer, features, tokens.unsqueeze(1), c.unsqueeze(1), p).squeeze(1)
            if self.gradients is not None and slopes is None and means is None:
                scaled = c if layer.scale == 1 else c * layer.scale
                self.gradients.add_tokens(rows, p, features, layer, tokens.clamp(min=0), scaled)
                return log_p
            tokens, a, total = tokens.unsqueeze(1), c.unsqueeze(1), c
        elif as_set:
            log_p, shares = set_log_probs(layer, features, tokens, c, p)
            a, total = c.unsqueeze(1) * shares, c
        else:
            log_p, a, total = token_log_probs(layer, features, tokens, c, p), c, c.sum(1)
        if self.gradients is not None:
            g = logit_gradients_(p, slopes, layer, tokens, a, total, smoothing)
            self.gradients.add_dense(rows, g, features, layer)
        if means is None:
            return log_p
        return (1 - smoothing) * log_p + smoothing * (means if log_p.ndim == 1 else means.unsqueeze(1))


class _Score(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx,
        features: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        scale: float,
        cap: float | None,
        forbidden: Tensor | None,
        tokens: Tensor,
        c: Tensor,
        as_set: bool,
        smoothing: float,
        may_learn: bool,
    ) -> tuple[Tensor, Tensor]:
        needed: tuple[bool, bool, bool] = ctx.needs_input_grad[:3]  # type: ignore[attr-defined]
        done = Pass(
            OutputLayer(weight, bias, scale, cap, forbidden), features, needed if may_learn and any(needed) else None
        )
        log_p, entropies = done.run(Targets(tokens, c, as_set, smoothing))
        if done.gradients is not None:
            check_possible(log_p, c)
        ctx.save_for_backward(features, weight, bias, forbidden, tokens, c)  # type: ignore[arg-type]
        ctx.mark_non_differentiable(entropies)
        ctx.ready, ctx.rest = done.gradients, (scale, cap, as_set, smoothing)  # type: ignore[attr-defined]
        scores = log_p.masked_fill(c == 0, 0.0) * c
        return scores if scores.ndim == 1 else scores.sum(1), entropies

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, upstream: Tensor, no_upstream: Tensor) -> tuple[Tensor | None, ...]:
        features, weight, bias, forbidden, tokens, c = ctx.saved_tensors  # type: ignore[attr-defined]
        ready: Gradients | None = ctx.ready  # type: ignore[attr-defined]
        scale, cap, as_set, smoothing = ctx.rest  # type: ignore[attr-defined]
        ctx.ready = None  # type: ignore[attr-defined]
        shared = upstream[:1].sum()
        if ready is None or not bool((upstream == shared).all()):
            # not a plain sum or mean of the rows, or a second backward pass: once more, with the rows' own weights
            needed: tuple[bool, bool, bool] = ctx.needs_input_grad[:3]  # type: ignore[attr-defined]
            again = Pass(OutputLayer(weight, bias, scale, cap, forbidden), features, needed)
            weighed = c * (upstream if c.ndim == 1 else upstream.unsqueeze(1))
            again.run(Targets(tokens, weighed, as_set, smoothing))
            assert again.gradients is not None
            ready, shared = again.gradients, torch.ones_like(shared)
        return *ready.scaled_(shared).for_parameters(weight, bias), *[None] * 8


def check_possible(log_p: Tensor, c: Tensor) -> None:
    """Nothing can be learnt from a target that can never be generated."""
    impossible = (log_p == -torch.inf) & (c != 0)
    if bool(impossible.any()):
        position = int(impossible.nonzero()[0, 0])
        raise InputError(
            f"the target at position {position} is a token that the head can never generate (`<pad>`, `<s>` or another "
            "forbidden one); leave it out, or give it a weight of 0"
        )


def weighted_log_prob(
    layer: OutputLayer, features: Tensor, tokens: Tensor, c: Tensor, smoothing: float = 0.0
) -> Scored:
    """c · log p(token) of each position, or Σ_k c_k · log p(token_k): tokens and c are both [N] or both [N, K].

    With a `smoothing` ε below 1, log p(token) gives way to (1 - ε) · log p(token) + ε · the mean log p.

    Gradients reach features, weight and bias, as far as these need them. They are exact for any use of the result; it
    costs least where the rows are summed or averaged, because the coefficients were known when the logits were.
    A token that can never be generated has a log p of -inf; where gradients are needed it is an `InputError`. Slots
    with a coefficient of 0 are unused, whatever their token.
    """
    if tokens.ndim == 2 and tokens.shape[1] == 1:
        tokens, c = tokens.squeeze(1), c.squeeze(1)
    return Scored(*_Score.apply(features, *layer, tokens, c, False, smoothing, torch.is_grad_enabled()))  # type: ignore[no-untyped-call]


def set_log_prob(layer: OutputLayer, features: Tensor, tokens: Tensor, c: Tensor) -> Scored:
    """c · log Σ_k p(token_k) of each position [N], for sets of tokens [N, K] and coefficients [N].

    The tokens of a set differ from one another. Those that can never be generated add nothing: they fill unused slots.
    """
    if tokens.shape[1] == 1:
        tokens = tokens.squeeze(1)
    return Scored(*_Score.apply(features, *layer, tokens, c, True, 0.0, torch.is_grad_enabled()))  # type: ignore[no-untyped-call]
