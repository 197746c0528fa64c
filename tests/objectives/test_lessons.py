"""Bang-bang SPG that teaches at every position, and sets of tied tokens, against sums over all sequences."""

import math

import pytest
import torch
from torch import Tensor

from bangbang.errors import InputError
from bangbang.objectives import Rules, Sampling, spg, token_losses
from bangbang.objectives.lessons import left_over_chances
from bangbang.objectives.settings import BangBang
from bangbang.rewards import RougeN
from bangbang.symbols import EOS, PAD, UNK
from tests.objectives.test_exact import REWARD, SHORT, STANDARD_ERRORS, TWO, Y, estimate, exact_gradient, references
from tests.objectives.test_limits import REFERENCES, generator, loss_and_gradients, model_and_decoder
from tests.oracles.enumeration import TIME, A, PrefixModel, gradient, prefixes, q_step

P_DROP = 0.4
UNKNOWN = ((A, UNK, EOS),)  # after A, all tokens but </s> are as good
PLAIN = Sampling(P_DROP, weight_by_reward=False)
ALL = PLAIN._replace(positions="all")
BOTH = ALL._replace(exact_ties=True)


def gradient_everywhere(model: PrefixModel, weight: float) -> Tensor:
    """-(1 - p_drop) Σ_prefix P(prefix) Σ_v q̃(v | prefix, W) ∂log p(v | prefix)."""
    value = torch.zeros((), dtype=torch.float64)
    for prefix in prefixes():
        reach = 1.0
        for t, token in enumerate(prefix):
            driven = q_step(model, prefix[:t], Y, weight)[token].item()
            reach *= (1 - P_DROP) * driven + P_DROP * model.log_p(prefix[:t])[token].exp().item()
        for v, q in q_step(model, prefix, Y, weight).items():
            if q.item() > 0:
                value = value - (1 - P_DROP) * reach * q.item() * model.log_p(prefix)[v]
    return gradient(value, model)


@pytest.mark.parametrize("weight", [math.inf, 3.0])
def test_every_position_teaches_what_the_driven_ones_do(weight: float) -> None:
    model = PrefixModel()
    torch.testing.assert_close(gradient_everywhere(model, weight), exact_gradient(model, P_DROP, weight, False))


@pytest.mark.parametrize(
    "settings",
    [ALL, ALL._replace(rules=Rules(3.0)), PLAIN._replace(exact_ties=True), BOTH, BOTH._replace(samples=2)],
    ids=["all", "all, finite W", "exact ties", "both", "both, two samples"],
)
@pytest.mark.parametrize("several", [Y, TWO, UNKNOWN], ids=["one reference", "two references", "all tie"])
def test_monte_carlo_converges_to_the_gradient_of_the_driven_positions(settings: Sampling, several) -> None:
    model = PrefixModel()
    exact = exact_gradient(model, P_DROP, settings.rules.weight, False, several)
    drawn = torch.stack([estimate(model, settings, 400 // settings.samples, seed, several) for seed in range(20)])
    bound = STANDARD_ERRORS * drawn.std(0) / math.sqrt(len(drawn)) + 1e-7
    assert ((drawn.mean(0) - exact).abs() <= bound).all()
    assert bound.norm() < 0.6 * exact.norm()


def test_a_forced_end_is_taught_everywhere() -> None:
    model = PrefixModel()
    exact = exact_gradient(model, P_DROP, math.inf, False, SHORT, 2)
    for settings in (ALL._replace(ends="reference"), BOTH._replace(ends="reference")):
        drawn = torch.stack([estimate(model, settings, 400, seed, SHORT) for seed in range(20)])
        assert ((drawn.mean(0) - exact).abs() <= STANDARD_ERRORS * drawn.std(0) / math.sqrt(20) + 1e-7).all()


def test_they_vary_less() -> None:
    model = PrefixModel()

    def variance(settings: Sampling) -> float:
        return float(torch.stack([estimate(model, settings, 20, seed) for seed in range(60)]).var(0).sum())

    driven, everywhere, both = map(variance, (PLAIN, ALL, BOTH))
    print(f"variance: driven {driven:.2e}, all {everywhere:.2e}, all with exact ties {both:.2e}")
    assert everywhere < 0.8 * driven and both < 0.9 * everywhere


@pytest.mark.parametrize("several", [Y, TWO, UNKNOWN], ids=["one reference", "two references", "all tie"])
def test_the_sets_are_those_of_the_literal_increments(several) -> None:
    """A set that cannot be listed is stood for by one of its tokens."""
    model, rows = PrefixModel(), 100
    proposal = spg(model.decoder(rows), REWARD, references(several, rows), TIME, BOTH, generator())
    seen = set()
    for features, tokens in zip(proposal.features, proposal.tokens.tolist(), strict=True):
        number = int((model.table == features).all(1).nonzero())
        best = {v for v, q in q_step(model, prefixes()[number], several, math.inf).items() if q.item() > 0}
        told = {v for v in tokens if v != PAD}
        assert told <= best and len(told) == (1 if UNK in best else len(best))
        seen.add((UNK in best, len(told)))
    assert {(False, 1), (False, 2)} <= seen and ((True, 1) in seen) == (several is UNKNOWN)


def test_the_loss_of_a_set_is_that_of_its_probability() -> None:
    model, decoder = model_and_decoder()
    proposal = spg(decoder, RougeN(3), REFERENCES, 6, Sampling(0.7, exact_ties=True, positions="all"), generator())
    p = model.head.logits(proposal.features).softmax(1)
    sums = [sum(p[n, v] for v in row if v != PAD) for n, row in enumerate(proposal.tokens.tolist())]
    expected = -proposal.coefficients * torch.stack(sums).log()
    torch.testing.assert_close(token_losses(model.head, proposal), expected)
    assert ((proposal.tokens != PAD).sum(1) > 1).any()


@pytest.mark.parametrize("positions", ["driven", "all"])
def test_samples_stay_what_they_are(positions) -> None:
    """The tokens that are fed are those of plain bang-bang SPG, and so are the targets where the reward drives."""
    _, decoder = model_and_decoder()
    settings = Sampling(P_DROP, weight_by_reward=False)
    plain = spg(decoder, RougeN(3), REFERENCES, 6, settings, generator())
    other = spg(decoder, RougeN(3), REFERENCES, 6, settings._replace(positions=positions), generator())
    assert plain.diagnostics == other.diagnostics
    assert len(other.tokens) == (plain.diagnostics.sample_tokens if positions == "all" else len(plain.tokens))


def test_without_dropping_all_positions_are_the_driven_ones_to_the_bit() -> None:
    found = []
    for positions in ("driven", "all"):
        model, decoder = model_and_decoder()
        settings = Sampling(0.0, positions=positions)  # type: ignore[arg-type]
        found.append(loss_and_gradients(model, spg(decoder, REWARD, REFERENCES, 6, settings, generator())))
    torch.testing.assert_close(found[0], found[1], rtol=0, atol=0)


def test_the_divisor_is_the_expected_number_of_driven_positions() -> None:
    _, decoder = model_and_decoder()
    proposal = spg(decoder, RougeN(3), REFERENCES, 6, ALL, generator())
    assert proposal.divisor == pytest.approx(0.6 * len(proposal.tokens))
    assert BangBang(positions="all").build(lambda: RougeN(3), 6).normalized(proposal).divisor == proposal.divisor
    never = spg(decoder, RougeN(3), REFERENCES, 6, BOTH._replace(p_drop=1.0), generator())
    assert len(never.tokens) == 0 and never.divisor == 0


def test_left_over_chances_are_uniform() -> None:
    coins = torch.rand(100_000, generator=generator())
    chances = left_over_chances(coins, P_DROP)[coins < P_DROP]
    assert chances.min() >= 0 and chances.max() < 1
    assert chances.histc(10, 0, 1).sub(len(chances) / 10).abs().max() < 5 * math.sqrt(len(chances) / 10)


def test_exact_ties_need_ties_that_the_model_breaks() -> None:
    for settings in ({"ties": "reference"}, {"reward_weight": 20.0}):
        with pytest.raises(InputError, match="exact_ties must be false unless"):
            BangBang(exact_ties=True, **settings)
    assert BangBang(positions="all", exact_ties=True).label == "SPG 0.4 + All + Sets"
    assert not BangBang(positions="all").is_the_papers and BangBang().is_the_papers
