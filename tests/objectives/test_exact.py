"""The shipped estimators against exact sums over all sequences of a model that can be enumerated (V=4, T=3)."""

import math

import pytest
import torch
from torch import Tensor

from bangbang.objectives import Rules, Sampling, spg, token_losses
from bangbang.rewards import Dup, Eos, RougeN, Sum
from bangbang.symbols import EOS, PAD
from tests.oracles.enumeration import (
    TIME,
    A,
    B,
    PrefixModel,
    gradient,
    main_reward,
    q_step,
    q_tilde,
    sequences,
    total_reward,
    weight_vectors,
)

Y = ((A, B, EOS),)
TWO = ((A, B, EOS), (B, EOS))
SHORT = ((B, EOS),)
REWARD = Sum(RougeN(3), Dup(), Eos())
STANDARD_ERRORS = 4.5  # of a mean: a false alarm in one of 150,000 coordinates


def references(several: tuple[tuple[int, ...], ...], rows: int) -> Tensor:
    padded = torch.tensor([[*y, *[PAD] * (TIME - len(y))] for y in several])
    return (padded[0] if len(several) == 1 else padded).expand(rows, *padded.shape[-2 if len(several) > 1 else -1 :])


def exact_gradient(model: PrefixModel, p_drop: float, weight: float, by_reward: bool, several=Y, end=None) -> Tensor:
    """Eq. 9 and 11 as sums over w and z: -Σ_w p(w) Σ_z q̃(z|w) c(z) Σ_{t: w_t ≠ 0} ∂log p(z_t | z_{1:t-1})."""
    value = torch.zeros((), dtype=torch.float64)
    for p_w, w in weight_vectors(p_drop, 1.0):
        weights = [weight if kept else 0.0 for kept in w]
        for z in sequences():
            c = main_reward(z, several) if by_reward else 1.0
            q = q_tilde(model, z, several, weights, end) if p_w else 0.0
            counted = [model.log_p(z[:t])[token] for t, token in enumerate(z) if w[t]]
            value = value - p_w * q * c * sum(counted, start=torch.zeros((), dtype=torch.float64))
    return gradient(value, model)


def estimate(model: PrefixModel, settings: Sampling, rows: int, seed: int, several=Y) -> Tensor:
    """The shipped code's gradient of the mean over examples."""
    generator = torch.Generator().manual_seed(seed)
    proposal = spg(model.decoder(rows), REWARD, references(several, rows), TIME, settings, generator)
    return gradient(token_losses(model.head, proposal).sum() / (rows * settings.samples), model)


def test_eq_7_and_its_gradient_eq_8() -> None:
    """V = log Σ_z p(z) exp(R(z)); autograd of -V is -Σ_z q(z) ∂log p(z), q ∝ p exp(R)."""
    model = PrefixModel()
    log_p = torch.stack([model.sequence_log_p(z) for z in sequences()])
    rewards = torch.tensor([total_reward(z, Y) for z in sequences()])
    assert log_p.exp().sum().item() == pytest.approx(1.0)
    value = torch.logsumexp(log_p + rewards, 0)
    q = torch.softmax(log_p.detach() + rewards, 0)
    torch.testing.assert_close(gradient(-value, model), gradient(-(q * log_p).sum(), model))


def test_q_tilde_is_a_distribution() -> None:
    model = PrefixModel()
    for w in ([2.0, 0.0, 2.0], [math.inf, 0.0, math.inf], [0.0, 0.0, 0.0]):
        assert sum(q_tilde(model, z, TWO, w) for z in sequences()) == pytest.approx(1.0)


@pytest.mark.parametrize("several", [Y, TWO], ids=["one reference", "two references"])
@pytest.mark.parametrize(
    ("p_drop", "weight", "by_reward"),
    [
        (0.0, 2.0, True),
        (0.0, 2.0, False),
        (0.4, math.inf, True),
        (0.4, math.inf, False),
        (0.4, 3.0, True),
        (0.0, 0, True),
    ],
    ids=["spg R-weighted", "spg", "bbspg R-weighted", "bbspg", "bbspg with finite W", "pg"],
)
def test_monte_carlo_converges_to_the_exact_gradient(p_drop: float, weight: float, by_reward: bool, several) -> None:
    """25 estimates of 400 samples: their mean is right within 4.5 standard errors, in every coordinate."""
    model = PrefixModel()
    exact = exact_gradient(model, p_drop, weight, by_reward, several)
    settings = Sampling(p_drop, weight_by_reward=by_reward, rules=Rules(weight))
    drawn = torch.stack([estimate(model, settings, 400, seed, several) for seed in range(25)])
    error = (drawn.mean(0) - exact).abs()
    bound = STANDARD_ERRORS * drawn.std(0) / math.sqrt(len(drawn)) + 1e-12
    assert (error <= bound).all()
    assert bound.norm() < 0.6 * exact.norm()  # so that 0, or twice the gradient, would be noticed


@pytest.mark.parametrize(("several", "end"), [(SHORT, 2), ((SHORT[0], (A, EOS)), 2)], ids=["one", "two references"])
@pytest.mark.parametrize(("weight", "samples"), [(math.inf, 1), (3.0, 2)])
def test_samples_that_end_with_the_reference_do_so_exactly(weight: float, samples: int, several, end: int) -> None:
    model = PrefixModel()
    exact = exact_gradient(model, 0.4, weight, True, several, end)
    settings = Sampling(0.4, samples, ends="reference", rules=Rules(weight))
    drawn = torch.stack([estimate(model, settings, 400 // samples, seed, several) for seed in range(25)])
    assert ((drawn.mean(0) - exact).abs() <= STANDARD_ERRORS * drawn.std(0) / 5 + 1e-12).all()
    # what the same samples teach when they may go on is something else
    apart = (drawn.mean(0) - exact_gradient(model, 0.4, weight, True, several)).abs()
    assert (apart > 2 * STANDARD_ERRORS * drawn.std(0) / 5 + 1e-12).any()


def test_the_error_falls_with_the_root_of_the_number_of_samples() -> None:
    model = PrefixModel()
    settings = Sampling(0.4)
    exact = exact_gradient(model, 0.4, math.inf, True)

    def rms(rows: int) -> float:
        errors = [(estimate(model, settings, rows, 1000 + seed) - exact).norm() for seed in range(100)]
        return float(torch.stack(errors).square().mean().sqrt())

    # a root mean square of 100 normal errors is known to 1/√200 = 7%, a quotient of two to 10%: three times that
    assert rms(10) / rms(160) == pytest.approx(4.0, rel=0.3)


def test_several_samples_of_an_example_estimate_the_same() -> None:
    model = PrefixModel()
    exact = exact_gradient(model, 0.4, math.inf, True)
    drawn = torch.stack([estimate(model, Sampling(0.4, samples=4), 100, seed) for seed in range(25)])
    assert ((drawn.mean(0) - exact).abs() <= STANDARD_ERRORS * drawn.std(0) / 5 + 1e-12).all()


def test_lemma_1() -> None:
    """Where w_t = 0: Σ_z q̃(z | w) ∂log p(z_t | z_{1:t-1}) = 0."""
    model = PrefixModel()
    for w in ((math.inf, 0.0, math.inf), (0.0, math.inf, 0.0), (2.0, 0.0, 0.0)):
        for t in (t for t in range(TIME) if w[t] == 0):
            terms = [q_tilde(model, z, Y, w) * model.log_p(z[:t])[z[t]] for z in sequences() if len(z) > t]
            assert float(gradient(torch.stack(terms).sum(), model).norm()) < 1e-12
        driven = next(t for t in range(TIME) if w[t])
        terms = [q_tilde(model, z, Y, w) * model.log_p(z[:driven])[z[driven]] for z in sequences() if len(z) > driven]
        assert float(gradient(torch.stack(terms).sum(), model).norm()) > 1e-2


def test_spg_varies_far_less_than_pg() -> None:
    """Exact variance of one sample's gradient over the squared length of its mean, by enumeration."""
    model = PrefixModel(scale=0.3)

    def relative_variance(weight: float) -> float:
        w = [weight] * TIME
        q = torch.tensor([q_tilde(model, z, Y, w) for z in sequences()], dtype=torch.float64)
        each = [main_reward(z, Y) * gradient(model.sequence_log_p(z), model) for z in sequences()]
        gradients = torch.stack(each)
        mean = (q[:, None] * gradients).sum(0)
        return float((q * (gradients - mean).square().sum(1)).sum() / mean.square().sum())

    pg, soft, hard = relative_variance(0.0), relative_variance(5.0), relative_variance(math.inf)
    print(f"variance / |mean|²: PG {pg:.2f}, SPG with W=5 {soft:.2f}, W=∞ {hard:.2f}")
    assert soft < pg / 5 and hard < pg / 10


def test_sequences_follow_q_tilde() -> None:
    """Chi-square of whole sampled sequences, with ties, rows that end at different times and several references."""
    from bangbang.objectives import draw
    from bangbang.objectives.policy_gradients import bang_bang_weights

    model, rows, p_drop = PrefixModel(seed=3), 20_000, 0.4
    generator = torch.Generator().manual_seed(7)
    coins, chances = torch.rand(2, rows, TIME, generator=generator)
    sample = draw(
        model.decoder(rows).rollout(TIME),
        model.head,
        REWARD.start(references(TWO, rows)),
        bang_bang_weights(coins, p_drop),
        chances,
        Rules(),
    )
    counts = dict.fromkeys(sequences(), 0)
    for z in sample.tokens.tolist():
        counts[tuple(v for v in z if v != PAD)] += 1
    expected = {
        z: rows * sum(p * q_tilde(model, z, TWO, w) for p, w in weight_vectors(p_drop, math.inf)) for z in counts
    }
    assert all(counts[z] == 0 for z in counts if expected[z] == 0)
    common = [z for z in counts if expected[z] >= 5]
    chi_square = sum((counts[z] - expected[z]) ** 2 / expected[z] for z in common)
    freedom = len(common) - 1
    assert len(common) >= 12 and sample.tied.any() and (sample.tokens == PAD).any()
    assert chi_square < freedom + 4 * math.sqrt(2 * freedom)


def test_ties_go_to_the_model_restricted_to_the_best() -> None:
    """With `<unk>` and nothing else left to match, all tokens but `</s>` tie: q̃ is p without it."""
    model = PrefixModel(seed=1)
    step = q_step(model, (A,), ((A, 3, EOS),), math.inf)
    assert step[EOS].item() == 0.0 and min(step[v].item() for v in (3, B)) > 0
