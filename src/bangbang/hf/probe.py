"""What a model does to its output layer's numbers, found by trying: no table of families is kept.

Shapes: N positions, V' rows of the output layer.
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from bangbang.errors import InputError
from bangbang.hf.capture import Captured, output_layer
from bangbang.hf.head import Form
from bangbang.hf.state import HfState

TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-4}  # of the largest logit; less exact types are less exact
OTHERWISE = 3e-2


@torch.no_grad()
def probe(model: PreTrainedModel, state: HfState, tokens: Tensor) -> Form:
    """The form of the head, by a pass over their tokens [R, T] from a state on; an InputError if there is none."""
    layer, kept = output_layer(state.module), []
    handle = layer.register_forward_hook(lambda module, inputs, output: kept.append(output))
    try:
        outputs = Captured(state.module, tokens.shape[1], whole=True).run(state.pass_inputs(tokens))
    finally:
        handle.remove()
    logits, own = outputs.logits, kept[0]
    if not isinstance(own, Tensor) or own.shape != logits.shape:
        raise InputError(f"{type(state.module).__name__}: its logits are not made by its output layer alone")
    closed = type(layer) is nn.Linear
    for form in forms(model, own.flatten(0, -2), logits.flatten(0, -2), closed):
        if explains(form, model, own, logits):
            return form
    raise InputError(
        f"{type(state.module).__name__}: what it does to its output layer's numbers is no scale, soft-cap or bias"
    )


@torch.no_grad()
def reads_chunks(state: HfState, tokens: Tensor) -> bool:
    """Whether several tokens may be read at once behind a cache: recurrent models may forget what was before."""
    whole = state.unrolled(tokens)[:, -1]
    begun, _ = state.read(tokens[:, :1])
    _, found = begun.read(tokens[:, 1:])
    tolerance = TOLERANCE.get(whole.dtype, OTHERWISE)
    return bool((found - whole).abs().max() <= 10 * tolerance * whole.abs().max().clamp(min=1e-6))


def forms(model: PreTrainedModel, own: Tensor, logits: Tensor, closed: bool) -> Iterator[Form]:
    """Forms to try: with every bias of the right size or none, capped as the config says or not, at the best scale."""
    names = [name for name, buffer in model.named_buffers() if buffer.numel() == own.shape[1]]
    for cap in (None, *caps(model)):
        for name in (*names, None):
            sums = own if name is None else own + model.get_buffer(name).view(-1)
            yield Form(closed, 1.0, cap, name)
            uncapped = logits if cap is None else cap * torch.atanh((logits.double() / cap).clamp(-1 + 1e-9, 1 - 1e-9))
            x, y = sums.double().flatten(), uncapped.double().flatten()
            scale = float((x * y).sum() / (x * x).sum().clamp(min=1e-30))
            yield Form(closed, float(f"{scale:.6g}"), cap, name)  # a float32 has no more digits


def caps(model: PreTrainedModel) -> list[float]:
    """The soft-caps that a config names, its parts' included."""
    found = []
    configs = [model.config, model.config.get_text_config(decoder=True)]
    for config in configs:
        for name, value in vars(config).items():
            if "softcap" in name.replace("_", "") and isinstance(value, int | float) and value > 0:
                found.append(float(value))
    return list(dict.fromkeys(found))


def explains(form: Form, model: PreTrainedModel, own: Tensor, logits: Tensor) -> bool:
    """Whether the form gives the model's own logits."""
    added = 0.0 if form.bias is None else model.get_buffer(form.bias).view(-1)
    found = form.scale * (own.double() + added)
    if form.cap is not None:
        found = form.cap * torch.tanh(found / form.cap)
    error = (found - logits.double()).abs().max()
    return bool(error <= TOLERANCE.get(logits.dtype, OTHERWISE) * logits.double().abs().max().clamp(min=1e-6))
