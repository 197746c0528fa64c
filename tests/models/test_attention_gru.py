"""The headline model: step against unroll, invariance to batch and padding, one shared embedding matrix."""

import pytest
import torch
from torch import Tensor

from bangbang.models import AttentionGru
from bangbang.models.settings import AttentionGruSettings
from bangbang.symbols import BOS, PAD


@pytest.fixture(params=[1, 3])
def model(request: pytest.FixtureRequest) -> AttentionGru:
    torch.manual_seed(0)
    return AttentionGru(30, AttentionGruSettings(layers=request.param, units=8, dropout=0.5)).double().eval()


def random_input(batch: int, length: int) -> tuple[Tensor, Tensor]:
    torch.manual_seed(1)
    return torch.randint(4, 30, (batch, length)), torch.full((batch,), length)


def test_unroll_is_step_in_a_loop(model: AttentionGru) -> None:
    tokens = torch.cat((torch.full((3, 1), BOS), torch.randint(4, 30, (3, 4))), 1)
    state = model.encode(*random_input(3, 5))
    unrolled = model.unroll(state, tokens)
    for t in range(5):
        state, features = model.step(state, tokens[:, t])
        torch.testing.assert_close(features, unrolled[:, t])


def test_gradients_of_step_and_unroll_agree(model: AttentionGru) -> None:
    tokens = torch.randint(4, 30, (3, 4))
    source, length = random_input(3, 5)
    targets = torch.randint(2, 30, (12,))

    def gradients(stepwise: bool) -> list[Tensor]:
        state = model.encode(source, length)
        if stepwise:
            steps = []
            for t in range(4):
                state, features = model.step(state, tokens[:, t])
                steps.append(features)
            features = torch.stack(steps, 1)
        else:
            features = model.unroll(state, tokens)
        model.zero_grad()
        model.head.log_prob(features.flatten(0, 1), targets).sum().backward()
        return [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]

    for one, other in zip(gradients(True), gradients(False), strict=True):
        torch.testing.assert_close(one, other)


def test_a_row_does_not_see_its_batch(model: AttentionGru) -> None:
    source, length = random_input(4, 7)
    length = torch.tensor([7, 3, 5, 1])
    tokens = torch.randint(4, 30, (4, 3))
    together = model.unroll(model.encode(source, length), tokens)
    for row in range(4):
        alone = source[row : row + 1, : int(length[row])]
        features = model.unroll(model.encode(alone, length[row : row + 1]), tokens[row : row + 1])
        torch.testing.assert_close(features, together[row : row + 1])


def test_what_stands_in_the_padding_does_not_matter(model: AttentionGru) -> None:
    source, length = random_input(2, 6)
    length = torch.tensor([6, 4])
    other = source.clone()
    other[1, 4:] = PAD
    tokens = torch.randint(4, 30, (2, 3))
    one, two = (model.unroll(model.encode(tokens_in, length), tokens) for tokens_in in (source, other))
    assert torch.equal(one, two)


def test_every_parameter_learns_and_embeddings_are_shared(model: AttentionGru) -> None:
    model.train()
    source, length = random_input(3, 5)
    features = model.unroll(model.encode(source, length), torch.randint(4, 30, (3, 2)))
    model.head.log_prob(features.flatten(0, 1), torch.randint(4, 30, (6,))).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert not parameter.grad.is_sparse, name
        assert parameter.numel() == 0 or parameter.grad.abs().sum() > 0, name
    vocabulary_sized = [name for name, parameter in model.named_parameters() if parameter.shape == (30, 8)]
    assert vocabulary_sized == ["head.weight"]


def test_select_reorders_and_repeats_rows(model: AttentionGru) -> None:
    state = model.encode(*random_input(3, 5))
    chosen = state.select(torch.tensor([2, 0, 2]))
    assert chosen.rows == 3 and chosen.device == state.device
    for name in ("hidden", "memory", "keys", "bias"):
        assert torch.equal(getattr(chosen, name), getattr(state, name)[[2, 0, 2]])
