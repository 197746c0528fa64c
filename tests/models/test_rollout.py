"""Steps over tokens chosen on the way against reading all of them at once: values, gradients, dropped rows, memory."""

import gc

import torch
from torch import Tensor

from bangbang.models import AttentionGru
from bangbang.models.settings import AttentionGruSettings
from bangbang.symbols import BOS, EOS

VOCABULARY, ROWS, TIME = 30, 5, 6


def problem(dropout: float = 0.0, layers: int = 2) -> tuple[AttentionGru, Tensor, Tensor, Tensor, Tensor]:
    torch.manual_seed(0)
    model = AttentionGru(VOCABULARY, AttentionGruSettings(layers=layers, units=8, dropout=dropout)).double()
    tokens = torch.randint(4, VOCABULARY, (ROWS, TIME))
    tokens[:, 0] = BOS
    targets = torch.randint(EOS, VOCABULARY, (TIME, ROWS))
    return model, torch.randint(4, VOCABULARY, (ROWS, 7)), torch.tensor([7, 3, 5, 7, 2]), tokens, targets


def test_a_rollout_that_drops_rows_equals_reading_all_at_once() -> None:
    model, source, length, tokens, targets = problem()
    weights = torch.rand(TIME, ROWS, dtype=torch.float64)
    weights[3:, [0, 2]] = 0
    weights[5:, 3] = 0

    features = model.unroll(model.encode(source, length), tokens).transpose(0, 1)
    model.head.log_prob(features.flatten(0, 1), targets.flatten(), weights.flatten()).sum().backward()
    expected = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()

    rollout = model.rollout(model.encode(source, length), TIME + 3)
    rows, taken = torch.arange(ROWS), []
    for t in range(TIME):
        if t == 3:
            rows = torch.tensor([1, 3, 4])
            rollout.keep(rows)
        if t == 5:
            rollout.keep(torch.tensor([2, 0]))
            rows = torch.tensor([4, 1])
        torch.testing.assert_close(rollout.step(tokens[rows, t]), features[t, rows])
        taken += [(t, int(row)) for row in rows]
    at = tuple(torch.tensor(taken).t())
    model.head.log_prob(rollout.features(), targets[at], weights[at]).sum().backward()
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.grad, expected[name], msg=name)


def test_gradients_with_dropout_are_those_of_finite_differences() -> None:
    model, source, length, tokens, targets = problem(dropout=0.3)

    def loss() -> Tensor:
        torch.manual_seed(1)
        rollout = model.rollout(model.encode(source, length), TIME)
        steps = torch.cat([rollout.step(column) for column in tokens.unbind(1)])
        features = rollout.features()
        torch.testing.assert_close(features, steps)
        return model.head.log_prob(features, targets.flatten()).sum()

    loss().backward()
    for name, parameter in model.named_parameters():
        place, epsilon = parameter.numel() // 2, 1e-6
        flat, gradient = parameter.data.view(-1), float(parameter.grad.view(-1)[place])
        old = float(flat[place])
        values = []
        for shift in (epsilon, -epsilon):
            flat[place] = old + shift
            values.append(float(loss().detach()))
        flat[place] = old
        assert abs((values[0] - values[1]) / (2 * epsilon) - gradient) < 1e-5 * max(1, abs(gradient)), name


def test_memory_is_freed_without_the_garbage_collector() -> None:
    """Tensors in cycles would pile up for hundreds of steps before they are looked for."""
    model, source, length, tokens, targets = problem()
    count = []
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            rollout = model.rollout(model.encode(source, length), TIME + 1)
            for column in tokens.unbind(1):
                rollout.step(column)
            rollout.keep(torch.tensor([0, 1]))
            rollout.step(tokens[:2, 0])
            model.head.log_prob(rollout.features()[: targets.numel()], targets.flatten()).sum().backward()
            model.unroll(model.encode(source, length), tokens).sum()  # and where no backward pass comes
            model.zero_grad()
            count.append(sum(isinstance(thing, Tensor) for thing in gc.get_objects()))
    finally:
        gc.enable()
    assert count[0] == count[1] == count[2]
