"""The caption model: step against unroll, a literal LSTM, invariance to the batch, and that the image matters."""

import pytest
import torch
from torch import Tensor

from bangbang.errors import InputError
from bangbang.models import ShowAndTell
from bangbang.models.settings import ShowAndTellSettings
from bangbang.symbols import BOS
from tests.models.stepwise import check_unroll_is_steps

UNITS, WORDS, FEATURES = 8, 30, 5


@pytest.fixture
def model() -> ShowAndTell:
    torch.manual_seed(0)
    config = ShowAndTellSettings(layers=1, units=UNITS, dropout=0.5)
    return ShowAndTell(WORDS, FEATURES, config).double().eval()


def random_images(batch: int) -> tuple[Tensor, Tensor]:
    torch.manual_seed(1)
    return torch.rand(batch, FEATURES, dtype=torch.float64), torch.ones(batch, dtype=torch.long)


def test_it_is_an_lstm_over_the_image_and_then_the_words(model: ShowAndTell) -> None:
    """h and c by their textbook equations, one example at a time."""
    images, ones = random_images(2)
    tokens = torch.tensor([[BOS, 7, 9], [BOS, 4, 4]])
    unrolled = model.unroll(model.encode(images, ones), tokens)
    for row in range(2):
        h, c = torch.zeros(2, UNITS, dtype=torch.float64)
        inputs = [model.image.weight @ images[row] + model.image.bias, *(model.words.weight[t] for t in tokens[row])]
        for t, x in enumerate(inputs):
            gates = model.lstm.input.weight @ x + model.lstm.input.bias + model.lstm.recurrent @ h
            i, f, o, g = gates.chunk(4)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
            if t:
                torch.testing.assert_close(unrolled[row, t - 1], h)


def test_unroll_is_step_in_a_loop_with_the_same_gradients(model: ShowAndTell) -> None:
    check_unroll_is_steps(model, lambda: model.encode(*random_images(3)), WORDS)


def test_a_row_does_not_see_its_batch_and_select_reorders(model: ShowAndTell) -> None:
    images, ones = random_images(4)
    tokens = torch.randint(4, WORDS, (4, 3))
    state = model.encode(images, ones)
    together = model.unroll(state, tokens)
    for row in range(4):
        alone = model.unroll(model.encode(images[row : row + 1], ones[:1]), tokens[row : row + 1])
        torch.testing.assert_close(alone, together[row : row + 1])
    rows = torch.tensor([2, 0, 2])
    torch.testing.assert_close(model.unroll(state.select(rows), tokens[rows]), together[rows])
    assert not torch.allclose(together[0], model.unroll(state.select(torch.tensor([1])), tokens[:1])[0])


def test_dropout_is_on_input_and_output_while_training(model: ShowAndTell) -> None:
    model.train()
    images, ones = random_images(64)
    tokens = torch.randint(4, WORDS, (64, 3))
    torch.manual_seed(3)
    state = model.encode(images, ones)
    features = model.unroll(state, tokens)
    assert (features == 0).double().mean().item() == pytest.approx(0.5, abs=0.05)  # on the output
    assert not torch.equal(state.hidden, model.encode(images, ones).hidden)  # on the input
    assert (state.hidden != 0).all()  # what the LSTM hands on to itself is whole


def test_features_are_seen_relative_to_the_training_images(model: ShowAndTell) -> None:
    images, ones = random_images(50)
    before = model.encode(images, ones).hidden
    model.observe(7 + 3 * images)
    torch.testing.assert_close(model.mean, (7 + 3 * images).mean(0))
    shifted = model.encode(7 + 3 * images, ones).hidden
    model.observe(images)
    torch.testing.assert_close(model.encode(images, ones).hidden, shifted)  # neither offset nor scale matters
    assert not torch.allclose(before, shifted)
    standard = (images - images.mean(0)) / images.std(0, correction=0)
    torch.testing.assert_close(standard, (images - model.mean) / model.deviation)


def test_features_that_do_not_change_are_not_blown_up(model: ShowAndTell) -> None:
    images, ones = random_images(50)
    images[:, 0] = 0.5
    model.observe(images)
    images[:, 0] = 0.6
    assert ((images - model.mean) / model.deviation).abs().max() < 10
    model.observe(torch.full_like(images, 0.5))  # all images alike
    assert model.encode(images, ones).hidden.isfinite().all() and (model.deviation == 1).all()


def test_half_precision_features_are_read(model: ShowAndTell) -> None:
    images, ones = random_images(2)
    model = model.float()
    exact, rounded = (model.encode(each, ones).hidden for each in (images.half().float(), images.half()))
    assert torch.equal(exact, rounded)


def test_more_than_one_layer_is_refused() -> None:
    with pytest.raises(InputError, match="one LSTM layer"):
        ShowAndTellSettings(layers=2)
