"""The decoder's recurrence against the same equations in plain autograd."""

import pytest
import torch
from torch import Tensor

from bangbang.models.attention_decoder import AttentionDecoder, Memory


def plain(
    decoder: AttentionDecoder, token_gates: Tensor, start: Tensor, values: Tensor, bias: Tensor, masks: Tensor | None
) -> tuple[Tensor, Tensor]:
    """One step after the other, one equation after the other; torch's own GRU cell."""
    h, units = list(start), start.shape[2]
    keys = values @ decoder.key.t()
    states, contexts = [], []
    for t, gates in enumerate(token_gates):
        query = h[-1] @ decoder.query.t() + decoder.query_bias
        energy = torch.tanh(keys + query.unsqueeze(1)) @ decoder.energy + bias
        context = (energy.softmax(1).unsqueeze(2) * values).sum(1)
        x = gates + context @ decoder.context.t()
        for layer in range(len(h)):
            if layer:
                below = h[layer - 1] if masks is None else h[layer - 1] * masks[t, layer - 1]
                x = below @ decoder.upper[layer - 1].t() + decoder.upper_bias[layer - 1]
            cell = decoder.recurrent[layer], decoder.recurrent_bias[layer]
            h[layer] = torch.gru_cell(x, h[layer], torch.eye(3 * units, dtype=x.dtype), cell[0], 0 * cell[1], cell[1])
        states.append(torch.stack(h))
        contexts.append(context)
    return torch.stack(states), torch.stack(contexts)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(("layers", "time", "batch"), [(1, 1, 1), (1, 4, 3), (3, 4, 2)])
def test_states_contexts_and_gradients_equal_plain_autograd(layers: int, time: int, batch: int, masked: bool) -> None:
    torch.manual_seed(0)
    units, size, source = 3, 4, 5
    decoder = AttentionDecoder(size, units, layers).double()
    for parameter in decoder.parameters():
        torch.nn.init.normal_(parameter, std=0.7)

    def leaf(*shape: int) -> Tensor:
        return torch.randn(*shape, dtype=torch.float64, requires_grad=True)

    token_gates, start = leaf(time, batch, 3 * units), leaf(layers, batch, units)
    bias = torch.zeros(batch, source, dtype=torch.float64)
    bias[0, 3:] = -torch.inf
    values = leaf(batch, source, size)
    masks = (torch.rand(time, layers - 1, batch, units) < 0.5).double() * 2 if masked else None
    inputs = [token_gates, start, values]
    inputs += [parameter for parameter in decoder.parameters() if parameter.numel()]

    ours = decoder(token_gates, start, Memory(values, decoder.keys(values), bias), masks)
    theirs = plain(decoder, token_gates, start, values, bias, masks)
    weights = [torch.randn_like(part) for part in theirs]
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other)
    mine, other = (
        torch.autograd.grad(sum((part * weight).sum() for part, weight in zip(parts, weights, strict=True)), inputs)
        for parts in (ours, theirs)
    )
    for one, two in zip(mine, other, strict=True):
        torch.testing.assert_close(one, two)
