"""The LSTM against torch's own, forward and backward, and the steps of a rollout against the same steps unrolled."""

import gc

import pytest
import torch
from torch import Tensor, nn

from bangbang.models import ShowAndTell
from bangbang.models.lstm import Lstm
from bangbang.models.settings import ShowAndTellSettings
from bangbang.symbols import BOS, PAD

UNITS = 6


def torchs_own(lstm: Lstm) -> nn.LSTM:
    """torch.nn.LSTM with the same weights; its gates are in the order i, f, g, o."""
    own = nn.LSTM(UNITS, UNITS).double()
    order = torch.cat([torch.arange(gate * UNITS, (gate + 1) * UNITS) for gate in (0, 1, 3, 2)])
    with torch.no_grad():
        own.weight_ih_l0.copy_(lstm.input.weight[order])
        own.weight_hh_l0.copy_(lstm.recurrent[order])
        own.bias_ih_l0.copy_(lstm.input.bias[order])
        own.bias_hh_l0.zero_()
    return own


@pytest.mark.parametrize(("time", "batch"), [(1, 1), (1, 4), (5, 3), (9, 1)])
def test_states_and_gradients_equal_torchs(time: int, batch: int) -> None:
    torch.manual_seed(time)
    lstm = Lstm(UNITS).double()
    own = torchs_own(lstm)
    inputs = torch.randn(time, batch, UNITS, dtype=torch.float64, requires_grad=True)
    start = [torch.randn(batch, UNITS, dtype=torch.float64, requires_grad=True) for _ in range(2)]
    weights = torch.randn(time, batch, UNITS, dtype=torch.float64)
    ours, last = lstm(inputs, *start)
    theirs, (_, last_theirs) = own(inputs, (start[0][None], start[1][None]))
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(last, last_theirs[0])
    leaves = [inputs, *start]
    mine = torch.autograd.grad((ours * weights).sum() + (last**2).sum(), [*leaves, *lstm.parameters()])
    order = torch.cat([torch.arange(gate * UNITS, (gate + 1) * UNITS) for gate in (0, 1, 3, 2)])
    names = [own.weight_ih_l0, own.bias_ih_l0, own.weight_hh_l0]
    other = torch.autograd.grad((theirs * weights).sum() + (last_theirs**2).sum(), [*leaves, *names])
    for one, two in zip(mine[:3], other[:3], strict=True):
        torch.testing.assert_close(one, two)
    by_name = dict(zip((name for name, _ in lstm.named_parameters()), mine[3:], strict=True))
    for name, two in zip(("input.weight", "input.bias", "recurrent"), other[3:], strict=True):
        torch.testing.assert_close(by_name[name][order], two)


def rolled(model: ShowAndTell, images: Tensor, tokens: Tensor, keeps: dict[int, list[int]]) -> tuple[Tensor, Tensor]:
    """Features of a rollout [N, D] and, for each, the (row, time) it belongs to; `keeps` drops rows before a step."""
    rollout = model.rollout(model.encode(images, torch.ones(len(images), dtype=torch.long)), tokens.shape[1])
    rows = torch.arange(len(images))
    stepped, places = [], []
    for t in range(tokens.shape[1]):
        if t in keeps:
            kept = torch.tensor(keeps[t])
            rollout.keep(kept)
            rows = rows[kept]
        stepped.append(rollout.step(tokens[rows, t]))
        places += [(int(row), t) for row in rows]
    features = rollout.features()
    torch.testing.assert_close(torch.cat(stepped), features.detach())
    return features, torch.tensor(places)


@pytest.mark.parametrize("keeps", [{}, {2: [0, 2, 3]}, {1: [3, 1], 3: [1]}, {0: [2, 0]}, {1: [0, 1, 2], 2: [2, 0]}])
def test_a_rollout_is_unroll_of_the_tokens_it_took(keeps: dict[int, list[int]]) -> None:
    torch.manual_seed(0)
    model = ShowAndTell(20, 5, ShowAndTellSettings(layers=1, units=UNITS, dropout=0.0)).double()
    images = torch.rand(4, 5, dtype=torch.float64)
    tokens = torch.cat((torch.full((4, 1), BOS), torch.randint(PAD, 20, (4, 4))), 1)
    features, places = rolled(model, images, tokens, keeps)
    unrolled = model.unroll(model.encode(images, torch.ones(4, dtype=torch.long)), tokens)
    same = unrolled[places[:, 0], places[:, 1]]
    torch.testing.assert_close(features, same)
    weights = torch.randn_like(same)
    names, parameters = zip(*((n, p) for n, p in model.named_parameters() if not n.startswith("head")), strict=True)
    one, two = (torch.autograd.grad((each * weights).sum(), parameters) for each in (features, same))
    for name, left, right in zip(names, one, two, strict=True):
        torch.testing.assert_close(left, right, msg=name)


def test_a_rollouts_noise_is_on_input_and_output() -> None:
    torch.manual_seed(0)
    model = ShowAndTell(20, 5, ShowAndTellSettings(layers=1, units=64, dropout=0.5)).double().train()
    images, tokens = torch.rand(8, 5, dtype=torch.float64), torch.randint(4, 20, (8, 4))
    features, _ = rolled(model, images, tokens, {2: [0, 3, 4]})  # checks that the graph has the noise of the steps
    assert (features == 0).double().mean().item() == pytest.approx(0.5, abs=0.08)
    one, two = (model.rollout(model.encode(images, tokens[:, 0]), 1) for _ in range(2))
    state = model.eval().encode(images, tokens[:, 0])
    for rollout in (one, two):
        rollout.hidden, rollout.cell = state.hidden, state.cell
        rollout.segments[-1].tape.states[0], rollout.segments[-1].tape.cells[0] = state.hidden, state.cell
        rollout.step(tokens[:, 0])
    # from the same state and token, other states: the noise is on what the LSTM reads
    assert not torch.allclose(one.segments[-1].tape.states[1], two.segments[-1].tape.states[1])


def test_gradients_with_noise_are_those_of_finite_differences() -> None:
    torch.manual_seed(0)
    model = ShowAndTell(20, 5, ShowAndTellSettings(layers=1, units=UNITS, dropout=0.4)).double().train()
    images, tokens = torch.rand(4, 5, dtype=torch.float64), torch.randint(4, 20, (4, 4))
    weights = torch.randn(14, UNITS, dtype=torch.float64)

    def loss() -> Tensor:
        torch.manual_seed(7)
        return (rolled(model, images, tokens, {2: [0, 2, 3]})[0] * weights).sum()

    names, parameters = zip(*((n, p) for n, p in model.named_parameters() if not n.startswith("head")), strict=True)
    for name, parameter, gradient in zip(names, parameters, torch.autograd.grad(loss(), parameters), strict=True):
        place = int(gradient.abs().argmax())  # a parameter that matters
        flat, values = parameter.data.view(-1), []
        for shift in (1e-6, -2e-6):
            flat[place] += shift
            values.append(float(loss().detach()))
        flat[place] += 1e-6
        assert (values[0] - values[1]) / 2e-6 == pytest.approx(float(gradient.view(-1)[place]), rel=1e-5), name


def test_memory_is_freed_without_the_garbage_collector() -> None:
    """Tensors in cycles would pile up for hundreds of steps before they are looked for."""
    model = ShowAndTell(20, 5, ShowAndTellSettings(layers=1, units=UNITS, dropout=0.1)).double()
    images, tokens = torch.rand(4, 5, dtype=torch.float64), torch.randint(4, 20, (4, 4))
    count = []
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            rolled(model, images, tokens, {2: [0, 2]})[0].sum().backward()
            model.unroll(model.encode(images, tokens[:, 0]), tokens).sum()  # and where no backward pass comes
            model.zero_grad()
            count.append(sum(isinstance(thing, Tensor) for thing in gc.get_objects()))
    finally:
        gc.enable()
    assert count[0] == count[1] == count[2]
