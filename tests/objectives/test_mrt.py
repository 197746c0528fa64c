"""Minimum risk against the literal formula by autograd, and where candidates are the same or too few."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from bangbang.contracts import Batch
from bangbang.errors import InputError
from bangbang.objectives import mrt, token_losses
from bangbang.objectives.minimum_risk import MinimumRisk, distinct, risk_weights, sharpened
from bangbang.objectives.settings import Mrt, Rloo
from bangbang.rewards import Dup, Eos, RougeN, Sum
from bangbang.symbols import EOS, PAD, UNK
from bangbang.training.learner import Learner
from tests.objectives.test_exact import REWARD, TWO, Y, references
from tests.objectives.test_limits import Constant, generator
from tests.objectives.test_regularization import LENGTH, new_model
from tests.oracles.enumeration import TIME, A, B, PrefixModel, Tokens, gradient, main_reward, sequences

SETS = [
    [(A, B, EOS), (A, EOS), (B, UNK, A), (EOS,)],
    [(B, A, EOS), (B, A, EOS), (A, EOS), (B, A, EOS)],  # one of them three times
]


def literal_loss(model: PrefixModel, sets: list[list[Tokens]], several: tuple[Tokens, ...], alpha: float) -> Tensor:
    """-Σ_z Q(z) R(z), Q ∝ p^α, over each example's distinct candidates."""
    total = torch.zeros((), dtype=torch.float64)
    for each in sets:
        unique = list(dict.fromkeys(each))
        p = torch.stack([model.sequence_log_p(z).exp() ** alpha for z in unique])
        rewards = torch.tensor([main_reward(z, several) for z in unique], dtype=torch.float64)
        total = total - (p / p.sum() * rewards).sum()
    return total


def padded(sets: list[list[Tokens]]) -> Tensor:
    return torch.tensor([[[*z, *[PAD] * (TIME - len(z))] for z in each] for each in sets])


@pytest.mark.parametrize("several", [Y, TWO], ids=["one reference", "two references"])
@pytest.mark.parametrize("alpha", [0.005, 0.5, 1.0, 2.0])
def test_its_value_and_gradient_are_the_literal_ones(alpha: float, several: tuple[Tokens, ...]) -> None:
    model = PrefixModel()
    proposal = mrt(model.decoder(2), REWARD, references(several, 2), padded(SETS), alpha)
    loss = literal_loss(model, SETS, several, alpha)
    assert proposal.diagnostics.reward == pytest.approx(-loss.item(), rel=1e-6)
    exact = gradient(loss, model)
    assert exact.norm() > 1e-4
    torch.testing.assert_close(gradient(token_losses(model.head, proposal).sum(), model), exact, rtol=1e-5, atol=1e-8)


def test_over_all_sequences_it_is_the_expected_reward() -> None:
    model = PrefixModel()
    every = torch.tensor([[*z, *[PAD] * (TIME - len(z))] for z in sequences()])[None]
    proposal = mrt(model.decoder(1), REWARD, references(Y, 1), every, 1.0)
    value = torch.stack([model.sequence_log_p(z).exp() * main_reward(z, Y) for z in sequences()]).sum()
    assert proposal.diagnostics.reward == pytest.approx(value.item(), rel=1e-6)
    found = gradient(token_losses(model.head, proposal).sum(), model)
    torch.testing.assert_close(found, gradient(-value, model), rtol=1e-5, atol=1e-8)


def test_the_same_candidate_counts_once() -> None:
    model = PrefixModel()
    given = model.decoder(1), REWARD, references(Y, 1)
    once = mrt(*given, padded([[(B, A, EOS), (A, EOS)]]), 1.0)
    often = mrt(*given, padded(SETS[1:]), 1.0)
    assert often.diagnostics == once.diagnostics and once.diagnostics.samples == 2
    torch.testing.assert_close(token_losses(model.head, often), token_losses(model.head, once))
    assert len(often.tokens) == 5


@given(st.lists(st.lists(st.integers(0, 2), min_size=2, max_size=2), min_size=1, max_size=6), st.integers(1, 3))
def test_distinct_keeps_the_first_of_each(rows: list[list[int]], examples: int) -> None:
    kept = distinct(torch.tensor([rows] * examples))
    assert kept.tolist() == [[row not in rows[:k] for k, row in enumerate(rows)]] * examples


@settings(deadline=None)
@given(st.integers(1, 6), st.floats(0, 1, width=32), st.floats(0.001, 3), st.integers(0, 1000))
def test_equal_rewards_have_weights_of_exactly_zero(count: int, reward: float, alpha: float, seed: int) -> None:
    noise = torch.Generator().manual_seed(seed)
    log_p, kept = -20 * torch.rand(2, count, generator=noise), torch.rand(2, count, generator=noise) < 0.7
    kept[:, 0] = True
    q = sharpened(log_p, kept, alpha)
    torch.testing.assert_close(q.sum(1), torch.ones(2))
    assert not q[~kept].any()
    assert not risk_weights(q, torch.full_like(q, reward), kept, alpha).any()
    rewards = torch.rand(2, count, generator=noise)
    weights = risk_weights(q, rewards, kept, alpha)
    torch.testing.assert_close(weights.sum(1), torch.zeros(2), rtol=0, atol=1e-5)
    assert not weights[~kept].any()


def test_examples_with_one_candidate_or_equal_rewards_teach_nothing_and_are_counted() -> None:
    model = PrefixModel()
    sets = padded([[(A, EOS)] * 3, [(UNK, UNK, UNK), (UNK, UNK, B), (UNK, UNK, UNK)], SETS[0][:3]])
    proposal = mrt(model.decoder(3), REWARD, references(Y, 3), sets, 1.0)
    assert proposal.diagnostics[-2:] == (3, 1)
    alone = mrt(model.decoder(2), Constant(), references(Y, 2), sets[:2], 1.0)
    assert alone.diagnostics[-2:] == (2, 2) and len(alone.tokens) == 0
    losses = token_losses(model.head, alone)
    assert len(losses) == 0 and not gradient(losses.sum(), model).any()


# the candidates of a batch


def candidates_of(monkeypatch: pytest.MonkeyPatch, chosen: Mrt) -> tuple[Tensor, Batch]:
    model, batch = new_model(dropout=0.0)
    with torch.no_grad():
        model.head.weight.mul_(5)  # so that samples, and the greedy output, end before the limit
    found: list[Tensor] = []
    monkeypatch.setattr(
        "bangbang.objectives.minimum_risk.mrt",
        lambda *given: found.append(given[3]) or mrt(*given),
    )
    chosen.build(lambda: Sum(RougeN(3), Dup(), Eos()), LENGTH).propose(model, batch, 0, generator())
    greedy = model.greedy(batch.source, batch.source_length, LENGTH)
    return found[0], batch._replace(source=greedy)


def unpadded(rows: Tensor) -> list[list[int]]:
    return [[token for token in row if token != PAD] for row in rows.tolist()]


def test_candidates_are_reference_greedy_output_and_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    found, batch = candidates_of(monkeypatch, Mrt(samples=2, bang_bang=2, bang_bang_p_drop=0.0))
    assert found.shape[:2] == (4, 6)
    assert unpadded(found[:, 0]) == unpadded(batch.target) and unpadded(found[:, 1]) == unpadded(batch.source)
    # without dropping, the reward writes the reference, but for ties
    driven = unpadded(found[:, 4]) + unpadded(found[:, 5])
    assert sum(z in unpadded(batch.target) for z in driven) >= 6
    drawn = unpadded(found[:, 2]) + unpadded(found[:, 3])
    assert sum(z in unpadded(batch.target) for z in drawn) <= 1 and len(set(map(tuple, drawn))) > 4


@pytest.mark.parametrize(
    ("chosen", "count"),
    [
        (Mrt(), 7),
        (Mrt(samples=0), 2),
        (Mrt(samples=2, greedy=False, reference=False), 2),
        (Mrt(samples=1, reference=False), 2),
    ],
)
def test_candidates_are_those_that_are_asked_for(chosen: Mrt, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = candidates_of(monkeypatch, chosen)
    assert found.shape[1] == count == chosen.sequences


@pytest.mark.parametrize(
    ("normalizer", "divisor"), [("constant", 4 * LENGTH), ("sequences", 4), ("positions", None)], ids=str
)
def test_an_examples_candidates_are_divided_as_one_sequence(normalizer, divisor: int | None) -> None:
    model, batch = new_model(dropout=0.3)
    learner = Learner(model, Mrt(samples=3, alpha=1.0, normalizer=normalizer).build(lambda: RougeN(3), LENGTH)).train()
    loss = learner(batch, 0, generator())
    assert loss.divisor == (divisor or len(loss.losses)) and math.isfinite(loss.losses.sum().item())
    assert all(parameter.grad is None for parameter in model.parameters())
    loss.losses.sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


@pytest.mark.parametrize(
    "too_few", [{"samples": 1}, {"samples": 0, "reference": True}, {"samples": 0, "greedy": True}, {"bang_bang": 1}]
)
def test_without_candidates_it_is_refused(too_few: dict[str, int]) -> None:
    chosen = {"samples": 0, "greedy": False, "reference": False, **too_few}
    with pytest.raises(InputError, match=r"^objective: mrt without candidates: it compares 2 at least"):
        Mrt(**chosen)


@pytest.mark.parametrize("wrong", [{"alpha": 0.0}, {"alpha": math.inf}, {"samples": -1}, {"bang_bang_p_drop": 1.5}])
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match=f"^objective.{next(iter(wrong))} must be "):
        Mrt(**wrong)


def test_its_name_and_what_it_says_of_itself() -> None:
    assert Mrt().label == "MRT" and Mrt().is_rewarded and not Mrt().is_the_papers and not Mrt().needs_start
    assert isinstance(Mrt().build(lambda: RougeN(3), 5), MinimumRisk)
    assert Mrt(samples=9, bang_bang=2).sequences == 13 and Rloo(samples=4).sequences == 4
