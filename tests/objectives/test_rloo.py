"""REINFORCE leave-one-out against sums over all sequences, against the policy gradient, and where nothing differs."""

import math
from collections import Counter
from itertools import product
from typing import Literal

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from bangbang.contracts import Batch
from bangbang.objectives import Rules, Sampling, draw, rloo, sampler, spg, token_losses
from bangbang.objectives.base import TemperedDecoder
from bangbang.objectives.leave_one_out import LeaveOneOut, less_others, to_go
from bangbang.objectives.settings import Rloo
from bangbang.rewards import Dup, Eos, FunctionReward, RougeN, Sum, repeat
from bangbang.symbols import PAD
from tests.objectives.test_exact import REWARD, STANDARD_ERRORS, Y, references
from tests.objectives.test_limits import REFERENCES, Constant, generator, loss_and_gradients, model_and_decoder, words
from tests.oracles.enumeration import TIME, PrefixModel, Tokens, gradient, main_reward, sequences

Credit = Literal["sequence", "token"]


def policy_gradient(model: PrefixModel) -> Tensor:
    """-∂E[R] by autograd of Σ_z p(z) R(z)."""
    value = torch.stack([model.sequence_log_p(z).exp() * main_reward(z, Y) for z in sequences()]).sum()
    return gradient(-value, model)


def still_earns(z: Tokens, t: int) -> float:
    return main_reward(z, Y) - main_reward(z[:t], Y) if t < len(z) else 0.0


def expected_gradient(model: PrefixModel, credit: Credit) -> Tensor:
    """-Σ_{z,z'} p(z) p(z') Σ_t A_t ∂log p(z_t | z_{1:t-1}) for J = 2, where z' alone is the baseline of z."""
    coefficients: Counter[tuple[Tokens, int]] = Counter()
    p = {z: model.sequence_log_p(z).exp().item() for z in sequences()}
    left = {z: [still_earns(z, t if credit == "token" else 0) for t in range(TIME)] for z in p}
    for z, other in product(p, p):
        for t, token in enumerate(z):
            coefficients[z[:t], token] += p[z] * p[other] * (left[z][t] - left[other][t])
    terms = [c * model.log_p(prefix)[token] for (prefix, token), c in coefficients.items()]
    return gradient(-torch.stack(terms).sum(), model)


@pytest.mark.parametrize("credit", ["sequence", "token"])
def test_both_credits_have_the_gradient_of_the_expected_reward(credit: Credit) -> None:
    model = PrefixModel()
    torch.testing.assert_close(expected_gradient(model, credit), policy_gradient(model))


def estimate(model: PrefixModel, credit: Credit, rows: int, samples: int, seed: int) -> Tensor:
    noise = torch.Generator().manual_seed(seed)
    proposal = rloo(model.decoder(rows), REWARD, references(Y, rows), TIME, samples, credit, noise)
    return gradient(token_losses(model.head, proposal).sum() / (rows * samples), model)


@pytest.mark.parametrize("samples", [2, 4])
@pytest.mark.parametrize("credit", ["sequence", "token"])
def test_monte_carlo_converges_to_the_exact_gradient(credit: Credit, samples: int) -> None:
    model = PrefixModel()
    exact = policy_gradient(model)
    drawn = torch.stack([estimate(model, credit, 400 // samples, samples, seed) for seed in range(25)])
    bound = STANDARD_ERRORS * drawn.std(0) / math.sqrt(len(drawn)) + 1e-7
    assert ((drawn.mean(0) - exact).abs() <= bound).all()
    assert bound.norm() < 0.6 * exact.norm()


def test_credit_by_the_token_varies_less() -> None:
    model = PrefixModel()

    def variance(credit: Credit) -> float:
        return float(torch.stack([estimate(model, credit, 20, 4, seed) for seed in range(50)]).var(0).sum())

    by_sequence, by_token = variance("sequence"), variance("token")
    print(f"variance: by the sequence {by_sequence:.2e}, by the token {by_token:.2e}")
    assert by_token < 0.9 * by_sequence


def test_credit_by_the_sequence_is_the_policy_gradient_with_the_others_as_baseline_to_the_bit() -> None:
    model, decoder = model_and_decoder()
    reward = FunctionReward(uneven)
    ours = rloo(decoder, reward, REFERENCES, 6, 3, "sequence", generator())
    assert ours.coefficients.all()
    losses, gradients = loss_and_gradients(model, ours)
    model, decoder = model_and_decoder()
    settings = Sampling(0.0, 3, baseline="others", rules=Rules(weight=0.0))
    theirs = spg(decoder, reward, REFERENCES, 6, settings, generator())
    assert ours.diagnostics == theirs.diagnostics and ours.tokens.tolist() == theirs.tokens.tolist()
    expected, exact = loss_and_gradients(model, theirs)
    torch.testing.assert_close(losses, expected, rtol=0, atol=0)
    for name, found in gradients.items():
        torch.testing.assert_close(found, exact[name], rtol=0, atol=0, msg=name)


def uneven(z: list[int], references: list[list[int]]) -> float:
    """A metric that hardly ever gives two sequences the same."""
    return sum((token * 0.377 + place * 0.101) % 1 for place, token in enumerate(z)) / 8


@pytest.mark.parametrize(
    "reward", [RougeN(3), Sum(FunctionReward(words, bounds=(-5, 5)), Eos()), Sum(RougeN(2), Dup())]
)
def test_what_is_earned_before_a_token_is_the_reward_of_the_prefix(reward, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the rollout leaves finished rows behind on the way."""
    monkeypatch.setattr(sampler, "DONE_SHARE", 0.1)
    _, decoder = model_and_decoder()
    chances = torch.rand(24, 6, generator=generator())
    sample = draw(
        decoder.repeat(6).rollout(6),
        decoder.head,
        repeat(reward.start(REFERENCES), 6),
        torch.ones(24, 6, dtype=torch.bool),
        chances,
        Rules(weight=0.0),
        with_earned=True,
    )
    assert (sample.tokens == PAD).any()
    left = to_go(sample)
    for row, z in enumerate(sample.tokens):
        state = reward.start(REFERENCES[row // 6][None])
        shares = [state.loss_weight().item()]
        for token in z[z != PAD]:
            state.advance(token[None])
            shares.append(state.loss_weight().item())
        expected = [shares[-1] - share for share in shares[:-1]]
        torch.testing.assert_close(left[row], torch.tensor(expected + [0.0] * (6 - len(expected))))


@pytest.mark.parametrize("credit", ["sequence", "token"])
def test_equal_rewards_teach_nothing(credit: Credit) -> None:
    model, decoder = model_and_decoder()
    proposal = rloo(decoder, Constant(), REFERENCES, 6, 3, credit, generator())
    assert len(proposal.tokens) == 0 and proposal.diagnostics.sample_tokens > 0
    losses, gradients = loss_and_gradients(model, proposal)
    assert len(losses) == 0 and all(not found.any() for found in gradients.values())


@given(st.floats(-1, 1, width=32), st.integers(2, 7), st.integers(1, 3), st.integers(1, 4))
def test_equal_values_are_exactly_zero_and_advantages_sum_to_zero(
    value: float, samples: int, rows: int, time: int
) -> None:
    assert not less_others(torch.full((rows * samples, time), value), samples).any()
    drawn = torch.rand(rows * samples, time, generator=generator())
    sums = less_others(drawn, samples).view(rows, samples, time).sum(1)
    torch.testing.assert_close(sums, torch.zeros_like(sums), rtol=0, atol=1e-5)


def test_its_name() -> None:
    assert Rloo().label == "RLOO" and Rloo().is_rewarded and not Rloo().is_the_papers


class Tempered(PrefixModel):
    """The same model with p ∝ exp(logits / T), in the sums alone."""

    def log_p(self, prefix: Tokens) -> Tensor:
        return (super().log_p(prefix) / HEAT).log_softmax(0)


HEAT = 2.0  # above 1: all prefixes are visited, and the spread of what is drawn can be trusted


@pytest.mark.parametrize("credit", ["sequence", "token"])
def test_at_a_temperature_the_gradient_is_that_of_the_tempered_policy(credit: Credit) -> None:
    model = Tempered()
    exact = policy_gradient(model)
    assert (exact - policy_gradient(PrefixModel())).norm() > 0.3 * exact.norm()

    def estimate_at(seed: int) -> Tensor:
        noise, decoder = torch.Generator().manual_seed(seed), TemperedDecoder(model.decoder(100), HEAT)
        proposal = rloo(decoder, REWARD, references(Y, 100), TIME, 4, credit, noise)._replace(temperature=HEAT)
        return gradient(token_losses(model.head, proposal).sum() / 400, model)

    drawn = torch.stack([estimate_at(seed) for seed in range(25)])
    bound = STANDARD_ERRORS * drawn.std(0) / math.sqrt(len(drawn)) + 1e-7
    assert ((drawn.mean(0) - exact).abs() <= bound).all()
    assert bound.norm() < 0.6 * exact.norm()


def test_the_setting_reaches_samples_and_loss() -> None:
    """At a very low temperature nearly every sample is the greedy output, and teaches nothing."""
    model, _ = model_and_decoder()
    source, lengths = torch.randint(4, 12, REFERENCES.shape), (REFERENCES != PAD).sum(1)
    batch = Batch(source, lengths, REFERENCES, lengths, REFERENCES.unsqueeze(1))
    proposals = {
        heat: LeaveOneOut(Rloo(temperature=heat), FunctionReward(uneven), 6).propose(model, batch, 0, generator())
        for heat in (1.0, 0.01)
    }
    assert [proposal.temperature for proposal in proposals.values()] == [1.0, 0.01]
    equal = {heat: proposal.diagnostics.equal for heat, proposal in proposals.items()}
    assert equal == {1.0: 0, 0.01: 3}
