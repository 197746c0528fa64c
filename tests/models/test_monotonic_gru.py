"""The model whose attention moves on: its equations literally, step against unroll, and what it may not depend on."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from bangbang.errors import InputError
from bangbang.models import MonotonicGru
from bangbang.models.monotonic_gru import ELSEWHERE, moved_on
from bangbang.models.settings import MonotonicGruSettings
from bangbang.symbols import BOS, PAD
from tests.models.stepwise import check_unroll_is_steps

TOKENS, LETTERS, UNITS = 30, 20, 8


@pytest.fixture(params=[1, 2])
def model(request: pytest.FixtureRequest) -> MonotonicGru:
    torch.manual_seed(0)
    settings = MonotonicGruSettings(layers=request.param, units=UNITS, dropout=0.5, jumps=2)
    return MonotonicGru(TOKENS, settings, LETTERS).double().eval()


def random_input(batch: int, length: int) -> tuple[Tensor, Tensor]:
    torch.manual_seed(1)
    return torch.randint(4, LETTERS, (batch, length)), torch.full((batch,), length)


@torch.no_grad()
def test_it_does_what_its_equations_say(model: MonotonicGru) -> None:
    """One example, place by place and move by move."""
    tokens = [BOS, 7, 9, 9]
    state = model.encode(*random_input(1, 5))
    unrolled = model.unroll(state, torch.tensor([tokens]))[0]
    memory, h, c = state.memory[0], state.hidden[0], torch.zeros(2 * UNITS, dtype=torch.float64)
    alpha = [1.0, 0.0, 0.0, 0.0, 0.0]
    cell, f = model.cell, model.features
    for t, token in enumerate(tokens):
        e = model.head.weight[token]
        x_r, x_z, x_n = (cell.weight_ih @ torch.cat((e, c)) + cell.bias_ih).chunk(3)
        g_r, g_z, g_n = (cell.weight_hh @ h + cell.bias_hh).chunk(3)
        r, z = (x_r + g_r).sigmoid(), (x_z + g_z).sigmoid()
        h = (1 - z) * (x_n + r * g_n).tanh() + z * h
        moves = (model.moves.weight @ h + model.moves.bias).softmax(0)
        weights = []
        for s in range(5):
            reached = sum(float(moves[j]) * alpha[s - j] for j in range(3) if s - j >= 0)
            compared = torch.tanh(model.key.weight @ memory[s] + model.query.weight @ h + model.query.bias)
            weights.append((ELSEWHERE + reached) * float(torch.exp(model.energy.weight[0] @ compared)))
        alpha = [weight / sum(weights) for weight in weights]
        c = sum((a * m for a, m in zip(alpha, memory, strict=True)), torch.zeros_like(c))
        torch.testing.assert_close(unrolled[t], torch.tanh(f.weight @ torch.cat((h, c, e)) + f.bias))


@given(length=st.integers(1, 7), moves=st.integers(1, 9), seed=st.integers(0, 99))
def test_attention_moves_by_each_move_with_its_probability(length: int, moves: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    alpha = torch.rand(2, length, generator=generator, dtype=torch.float64)
    pi = torch.rand(2, moves, generator=generator, dtype=torch.float64)
    found = moved_on(alpha, pi)
    for row in range(2):
        for s in range(length):
            expected = sum(float(pi[row, j] * alpha[row, s - j]) for j in range(moves) if s - j >= 0)
            assert float(found[row, s]) == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_it_reads_from_left_to_right_before_it_has_learned_anything(model: MonotonicGru) -> None:
    """Without energies attention is where the moves lead: 1 + 2t places at most, the first first."""
    torch.nn.init.zeros_(model.energy.weight)
    state = model.encode(*random_input(3, 9))
    for t in range(3):
        state, _ = model.step(state, torch.full((3,), BOS + t + 1))
        assert (state.alignment[:, 3 + 2 * t :] < 2 * (t + 1) * ELSEWHERE).all()
        torch.testing.assert_close(state.alignment.sum(1), torch.ones(3, dtype=torch.float64))


def test_unroll_is_step_in_a_loop_with_the_same_gradients(model: MonotonicGru) -> None:
    check_unroll_is_steps(model, lambda: model.encode(*random_input(3, 5)), TOKENS)


def test_a_row_sees_neither_its_batch_nor_what_stands_in_its_padding(model: MonotonicGru) -> None:
    source, _ = random_input(4, 7)
    length = torch.tensor([7, 3, 5, 1])
    tokens = torch.randint(4, TOKENS, (4, 3))
    together = model.unroll(model.encode(source, length), tokens)
    for row in range(4):
        alone = source[row : row + 1, : int(length[row])]
        features = model.unroll(model.encode(alone, length[row : row + 1]), tokens[row : row + 1])
        torch.testing.assert_close(features, together[row : row + 1])
    blank = torch.where(torch.arange(7) < length[:, None], source, PAD)
    assert torch.equal(model.unroll(model.encode(blank, length), tokens), together)


def test_select_reorders_and_repeats_rows(model: MonotonicGru) -> None:
    state, rows = model.encode(*random_input(3, 5)), torch.tensor([2, 0, 2])
    tokens = torch.randint(4, TOKENS, (3, 4))
    torch.testing.assert_close(model.unroll(state.select(rows), tokens[rows]), model.unroll(state, tokens)[rows])


def test_a_rollout_is_trained_on_the_steps_that_it_took(model: MonotonicGru) -> None:
    """Also when rows are dropped on the way, and with the noise of dropout."""
    model.train()
    tokens, rows = torch.randint(4, TOKENS, (3, 4)), torch.tensor([2, 0])
    rollout, seen = model.rollout(model.encode(*random_input(3, 5)), 4), []
    with torch.no_grad():  # as sampling is done
        for t in range(4):
            seen.append(rollout.step(tokens[:, t] if t < 2 else tokens[rows, t]))
            if t == 1:
                rollout.keep(rows)
    features = rollout.features()
    assert torch.equal(features, torch.cat(seen)) and features.shape == (10, UNITS)
    features.sum().backward()
    assert all(parameter.grad is not None for name, parameter in model.named_parameters() if name != "head.bias")


def test_dropout_is_drawn_anew_while_training(model: MonotonicGru) -> None:
    source, tokens = random_input(3, 5), torch.randint(4, TOKENS, (3, 4))
    model.train()
    one, two = (model.unroll(model.encode(*source), tokens) for _ in range(2))
    assert not torch.equal(one, two)


def test_sources_may_share_the_vocabulary_of_the_outputs() -> None:
    torch.manual_seed(0)
    model = MonotonicGru(TOKENS, MonotonicGruSettings(units=UNITS))
    assert model.source_words is None
    assert model.unroll(model.encode(*random_input(2, 5)), torch.full((2, 3), BOS)).shape == (2, 3, UNITS)


@pytest.mark.parametrize("key", ["layers", "units", "jumps"])
def test_settings_of_nothing_are_refused(key: str) -> None:
    with pytest.raises(InputError, match=key):
        MonotonicGruSettings(**{key: 0})
