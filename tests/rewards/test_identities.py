"""What every reward must satisfy: telescoping, brute force, batch = loop, finished rows, float32 ≈ float64."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bangbang.rewards import dense, look_up, repeat
from bangbang.symbols import BOS, EOS, PAD
from tests.rewards.cases import CASES, Case, V, batch, ended, one_or_several, outputs

every_reward = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
few = settings(derandomize=True, max_examples=20, deadline=None)


@every_reward
@few
@given(references=one_or_several, z=outputs)
def test_increments_add_up_to_the_reward(case: Case, references: list[list[int]], z: list[int]) -> None:
    state = case.reward.start(batch([references]), dtype=torch.float64)
    assert state.value().item() == 0
    total = 0.0
    for t, token in enumerate([*z, EOS]):
        chosen = torch.tensor([[token]])
        increments = state.increments()
        if case.exact or token in increments.tokens:
            total += look_up(increments, chosen).item()
        else:
            before = case.score(z[:t], ended(references)) if t else 0.0
            total += case.score([*z[:t], token], ended(references)) - before
        state.advance(chosen[0])
    expected = case.score([*z, EOS], ended(references))
    assert state.value().item() == pytest.approx(expected, abs=1e-6)
    assert total == pytest.approx(expected, abs=1e-6)


@every_reward
@few
@given(references=one_or_several, z=outputs)
def test_increments_equal_brute_force_over_the_vocabulary(
    case: Case, references: list[list[int]], z: list[int]
) -> None:
    state = case.reward.start(batch([references]), dtype=torch.float64)
    for t in range(len(z) + 1):
        increments = state.increments()
        before = case.score(z[:t], ended(references)) if t else 0.0
        assert state.value().item() == pytest.approx(before, abs=1e-9)
        tokens = [v for v in range(V) if v not in (PAD, BOS) and (case.exact or v in increments.tokens)]
        expected = [case.score([*z[:t], v], ended(references)) - before for v in tokens]
        assert dense(increments, V)[0, tokens].tolist() == pytest.approx(expected, abs=1e-9)
        if t < len(z):
            state.advance(torch.tensor([z[t]]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@every_reward
@few
@given(references=one_or_several, z=outputs)
def test_equal_rewards_are_equal_to_the_last_bit(
    case: Case, dtype: torch.dtype, references: list[list[int]], z: list[int]
) -> None:
    """Ties are found by equality, so where literal increments differ by rounding errors only, ours must not differ."""
    state = case.reward.start(batch([references]), dtype=dtype)
    for t in range(len(z) + 1):
        increments = state.increments()
        tokens = [v for v in range(V) if v not in (PAD, BOS) and (case.exact or v in increments.tokens)]
        literal = torch.tensor([case.score([*z[:t], v], ended(references)) for v in tokens], dtype=torch.float64)
        tied = (literal[:, None] - literal).abs() < 1e-12
        ours = dense(increments, V)[0, tokens]
        assert torch.equal(ours[:, None] == ours, tied)
        if t < len(z):
            state.advance(torch.tensor([z[t]]))


@every_reward
@few
@given(references=one_or_several, z=outputs)
def test_candidates_are_distinct_and_empty_slots_hold_the_rest(
    case: Case, references: list[list[int]], z: list[int]
) -> None:
    state = case.reward.start(batch([references]))
    for token in [*z, EOS]:
        increments = state.increments()
        slots = increments.tokens[0].tolist()
        tokens = [slot for slot in slots if slot != PAD]
        assert len(tokens) == len(set(tokens))
        for numbers, rest in (increments[1:3], increments[3:]):
            empty = numbers[increments.tokens == PAD] if numbers is not None else torch.empty(0)
            assert len(empty) == 0 or torch.equal(empty, rest.expand(len(empty)))
        state.advance(torch.tensor([token]))


rows_of_a_batch = st.lists(st.tuples(one_or_several, outputs), min_size=2, max_size=4)


@every_reward
@few
@given(rows=rows_of_a_batch)
def test_a_batch_gives_what_its_rows_give_alone_whenever_they_finish(
    case: Case, rows: list[tuple[list[list[int]], list[int]]]
) -> None:
    together = case.reward.start(batch([references for references, _ in rows]))
    alone = [case.reward.start(batch([references])) for references, _ in rows]
    steps = max(len(z) for _, z in rows) + 3
    for t in range(steps):
        written = dense(together.increments(), V)
        for b, state in enumerate(alone):
            assert torch.allclose(written[b], dense(state.increments(), V)[0], atol=1e-6)
            if t > len(rows[b][1]):
                assert not written[b].any(), "a finished row has nothing to gain"
        tokens = torch.tensor([[*z, EOS, *[7] * steps][t] for _, z in rows])
        together.advance(tokens)
        for b, state in enumerate(alone):
            state.advance(tokens[b : b + 1])
            assert together.value()[b].item() == pytest.approx(state.value().item(), abs=1e-6)
    expected = [case.score([*z, EOS], ended(references)) for references, z in rows]
    assert together.value().tolist() == pytest.approx(expected, abs=2e-6)


@every_reward
@few
@given(rows=rows_of_a_batch, data=st.data())
def test_selected_and_repeated_rows_go_their_own_ways(
    case: Case, rows: list[tuple[list[list[int]], list[int]]], data: st.DataObject
) -> None:
    state = case.reward.start(batch([references for references, _ in rows]))
    state.advance(torch.tensor([[*z, 7][0] for _, z in rows]))
    state.increments()
    picked = torch.tensor(data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=5)))
    chosen = state.select(picked)
    values, written = state.value().clone(), dense(state.increments(), V)
    assert torch.equal(dense(chosen.increments(), V), written[picked])
    chosen.advance(torch.randint(4, V, picked.shape, generator=torch.Generator().manual_seed(0)))
    chosen.increments()
    assert torch.equal(state.value(), values)
    assert torch.equal(dense(state.increments(), V), written)
    mask = torch.arange(len(rows)) % 2 == 0
    assert torch.equal(dense(state.select(mask).increments(), V), written[mask])
    samples = repeat(state, 3)
    assert torch.equal(dense(samples.increments(), V), written.repeat_interleave(3, dim=0))


@every_reward
@few
@given(references=one_or_several, z=outputs)
def test_float32_is_within_a_millionth_of_float64(case: Case, references: list[list[int]], z: list[int]) -> None:
    single, double = (case.reward.start(batch([references]), dtype=d) for d in (torch.float32, torch.float64))
    assert single.value().dtype == torch.float32 and double.value().dtype == torch.float64
    scale = 10 if "cider" in case.name else 1  # its values go up to 10
    for token in [*z, EOS]:
        difference = dense(single.increments(), V) - dense(double.increments(), V)
        assert difference.abs().max().item() < scale * 1e-6
        for state in (single, double):
            state.advance(torch.tensor([token]))
    assert single.value().item() == pytest.approx(double.value().item(), abs=scale * 1e-6)


@every_reward
@pytest.mark.skipif(torch.accelerator.device_count() == 0, reason="this machine has no accelerator")
def test_an_accelerator_gives_the_same_numbers(case: Case) -> None:
    references = batch([[[4, 5, 6, 4, 5]], [[7, 8]], [[6, 6, 4]]])
    here = case.reward.start(references)
    there = case.reward.start(references.to(torch.accelerator.current_accelerator()))
    for tokens in ([4, 8, 6], [5, EOS, 6], [9, 4, 4], [EOS, 4, 4]):
        difference = dense(here.increments(), V) - dense(there.increments(), V).cpu()
        assert difference.abs().max().item() < 1e-5
        here.advance(torch.tensor(tokens))
        there.advance(torch.tensor(tokens, device=there.value().device))
        assert torch.allclose(here.value(), there.value().cpu(), atol=1e-5)
