"""Our GRU against torch.nn.GRU, forward and gradients, and its behaviour at padding."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bangbang.models.gru import BidirectionalGru


def reference_layer(ours: BidirectionalGru) -> torch.nn.GRU:
    """torch's bidirectional GRU with the same weights."""
    units, inputs = ours.recurrent.shape[2], ours.input.shape[2]
    reference = torch.nn.GRU(inputs, units, batch_first=True, bidirectional=True, dtype=ours.input.dtype)
    with torch.no_grad():
        for direction, suffix in enumerate(("", "_reverse")):
            getattr(reference, f"weight_ih_l0{suffix}").copy_(ours.input[direction])
            getattr(reference, f"weight_hh_l0{suffix}").copy_(ours.recurrent[direction])
            getattr(reference, f"bias_ih_l0{suffix}").copy_(ours.input_bias[direction])
            getattr(reference, f"bias_hh_l0{suffix}").copy_(ours.recurrent_bias[direction])
    return reference


def random_layer(inputs: int, units: int) -> BidirectionalGru:
    layer = BidirectionalGru(inputs, units).double()
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return layer


@given(st.integers(1, 4), st.integers(1, 6), st.integers(1, 5), st.integers(1, 5), st.integers(0, 99))
def test_layer_equals_torch_with_packed_sequences(batch: int, time: int, inputs: int, units: int, seed: int) -> None:
    torch.manual_seed(seed)
    layer = random_layer(inputs, units)
    reference = reference_layer(layer)
    lengths = torch.randint(1, time + 1, (batch,))
    lengths[0] = time
    x = torch.randn(batch, time, inputs, dtype=torch.float64, requires_grad=True)
    padding = torch.arange(time) >= lengths.unsqueeze(1)

    states, backward_last = layer(x, padding)
    packed = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    packed_states, last = reference(packed)
    expected, _ = torch.nn.utils.rnn.pad_packed_sequence(packed_states, batch_first=True, total_length=time)

    real = ~padding.unsqueeze(2)
    torch.testing.assert_close(states * real, expected * real)
    torch.testing.assert_close(backward_last, last[1])

    weights = torch.randn_like(expected) * real
    ours = torch.autograd.grad((states * weights).sum() + backward_last.sum(), [x, *layer.parameters()])
    theirs = torch.autograd.grad((expected * weights).sum() + last[1].sum(), [x, *reference.parameters()])
    torch.testing.assert_close(ours[0], theirs[0])
    for direction in (0, 1):
        w, u, b, c = theirs[1 + 4 * direction : 5 + 4 * direction]
        for mine, other in zip(ours[1:], (w, b, u, c), strict=True):
            torch.testing.assert_close(mine[direction], other)


@pytest.mark.parametrize("extra", [1, 5])
def test_padding_changes_nothing(extra: int) -> None:
    """But the last bit, perhaps: some machines round a product's rows by how many there are."""
    torch.manual_seed(1)
    layer = random_layer(4, 8)
    x = torch.randn(3, 6, 4, dtype=torch.float64)
    longer = torch.cat((x, torch.randn(3, extra, 4, dtype=torch.float64)), 1)
    padding = (torch.arange(6 + extra) >= 6).expand(3, -1)
    states, last = layer(x, torch.zeros(3, 6, dtype=torch.bool))
    padded_states, padded_last = layer(longer, padding)
    torch.testing.assert_close(padded_states[:, :6], states, rtol=0, atol=1e-15)
    torch.testing.assert_close(padded_last, last, rtol=0, atol=1e-15)
