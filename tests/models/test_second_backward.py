"""Backward passes that are run twice: an error where a tape was overwritten, the same gradient where none was."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from bangbang.models import AttentionGru, ShowAndTell
from bangbang.models.attention_decoder import AttentionDecoder, Memory
from bangbang.models.gru import BidirectionalGru
from bangbang.models.layers import known_linear
from bangbang.models.lstm import Lstm
from bangbang.models.settings import AttentionGruSettings, ShowAndTellSettings

Problem = tuple[Tensor, nn.Module]


def gru_layer() -> Problem:
    layer = BidirectionalGru(3, 4)
    states, last = layer(torch.randn(2, 5, 3), torch.zeros(2, 5, dtype=torch.bool))
    return states.sum() + last.sum(), layer


def lstm_layer() -> Problem:
    layer = Lstm(4)
    states, cell = layer(torch.randn(5, 2, 4), torch.zeros(2, 4), torch.zeros(2, 4))
    return states.sum() + cell.sum(), layer


def attention_decoder() -> Problem:
    decoder = AttentionDecoder(4, 3, 2)
    values = torch.randn(2, 5, 4)
    memory = Memory(values, decoder.keys(values), torch.zeros(2, 5))
    states, contexts = decoder(torch.randn(4, 2, 9), torch.zeros(2, 2, 3), memory, None)
    return states.sum() + contexts.sum(), decoder


def attention_model() -> tuple[AttentionGru, Tensor, Tensor]:
    model = AttentionGru(20, AttentionGruSettings(layers=2, units=6, dropout=0.0))
    return model, torch.randint(4, 20, (3, 5)), torch.tensor([5, 4, 2])


def caption_model() -> tuple[ShowAndTell, Tensor, Tensor]:
    model = ShowAndTell(20, 5, ShowAndTellSettings(layers=1, units=6, dropout=0.0))
    return model, torch.rand(3, 5), torch.ones(3, dtype=torch.long)


def rolled(model: AttentionGru | ShowAndTell, source: Tensor, length: Tensor, drop: bool) -> Problem:
    rollout = model.rollout(model.encode(source, length), 3)
    rollout.step(torch.tensor([4, 5, 6]))
    if drop:
        rollout.keep(torch.tensor([0, 2]))
    rollout.step(torch.tensor([7, 8] if drop else [7, 8, 9]))
    features = rollout.features()
    return model.head.log_prob(features, torch.full((len(features),), 4)).sum(), model


def unrolled(model: AttentionGru | ShowAndTell, source: Tensor, length: Tensor) -> Problem:
    features = model.unroll(model.encode(source, length), torch.randint(4, 20, (3, 4))).flatten(0, 1)
    return model.head.log_prob(features, torch.full((12,), 4)).sum(), model


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "GRU layer": gru_layer,
    "LSTM": lstm_layer,
    "attention decoder": attention_decoder,
    "attention model": lambda: unrolled(*attention_model()),
    "attention rollout": lambda: rolled(*attention_model(), drop=False),
    "attention rollout that drops rows": lambda: rolled(*attention_model(), drop=True),
    "caption model": lambda: unrolled(*caption_model()),
    "LSTM rollout": lambda: rolled(*caption_model(), drop=False),
    "LSTM rollout that drops rows": lambda: rolled(*caption_model(), drop=True),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_second_backward_pass_through_a_tape_is_an_error(name: str) -> None:
    torch.manual_seed(0)
    loss, _ = PROBLEMS[name]()
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="run the forward pass again"):
        loss.backward(retain_graph=True)


@pytest.mark.parametrize("make", [attention_model, caption_model])
def test_features_taken_twice_share_one_tape(
    make: Callable[[], tuple[AttentionGru | ShowAndTell, Tensor, Tensor]],
) -> None:
    model, source, length = make()
    rollout = model.rollout(model.encode(source, length), 2)
    rollout.step(torch.tensor([4, 5, 6]))
    with pytest.raises(RuntimeError, match="run the forward pass again"):
        (rollout.features().sum() + rollout.features().sum()).backward()


@pytest.mark.parametrize("name", PROBLEMS)
def test_after_the_error_a_new_forward_pass_is_right(name: str) -> None:
    gradients = []
    for spoiled in (False, True):
        torch.manual_seed(0)
        loss, module = PROBLEMS[name]()
        if spoiled:
            loss.backward(retain_graph=True)
            with pytest.raises(RuntimeError):
                loss.backward()
            torch.manual_seed(0)
            loss, module = PROBLEMS[name]()
        loss.backward()
        gradients.append([parameter.grad for parameter in module.parameters()])
    for one, other in zip(*gradients, strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("shape", ["linear", "tanh"])
def test_known_results_can_be_gone_through_twice(shape: str) -> None:
    layer, inputs = nn.Linear(3, 4), torch.randn(5, 3, requires_grad=True)
    result = layer(inputs).detach()
    result = result.tanh() if shape == "tanh" else result
    total = (known_linear(inputs, layer, result, shape) ** 2).sum()  # type: ignore[arg-type]
    first = torch.autograd.grad(total, [inputs, layer.weight, layer.bias], retain_graph=True)
    second = torch.autograd.grad(total, [inputs, layer.weight, layer.bias])
    for one, other in zip(first, second, strict=True):
        assert torch.equal(one, other)
