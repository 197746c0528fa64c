"""Scheduled sampling against the tree of all that may be read, and as maximum likelihood where nothing is drawn."""

import math

import pytest
import torch
from torch import Tensor

from bangbang.contracts import Batch
from bangbang.errors import InputError
from bangbang.objectives import mle, scheduled_sampling, token_losses
from bangbang.objectives.scheduled_likelihood import read
from bangbang.objectives.settings import Mle, ScheduledSampling
from bangbang.symbols import BOS, EOS, PAD
from tests.objectives.test_exact import STANDARD_ERRORS, references
from tests.objectives.test_limits import REFERENCES, StepByStep, generator, loss_and_gradients, model_and_decoder
from tests.objectives.test_scst import new_model
from tests.oracles.enumeration import TOKENS, A, B, PrefixModel, Tokens, gradient

Y = (A, B, EOS)


def expected_loss(model: PrefixModel, y: Tokens, p_model: float, r: Tokens = ()) -> Tensor:
    """-Σ_r p(r) log p(y_t | r_{1:t-1}) over all r that may be read; the chance of each is a constant.

    A `</s>` that is read leads the model of the tests to its first prefix.
    """
    log_p = model.log_p(r if r in model.number else ())
    loss = -log_p[y[len(r)]]
    if len(r) + 1 == len(y):
        return loss
    for v in TOKENS:
        chance = p_model * log_p[v].exp().item() + (1 - p_model) * (v == y[len(r)])
        loss = loss + chance * expected_loss(model, y, p_model, (*r, v))
    return loss


@pytest.mark.parametrize("y", [Y, (B, EOS)], ids=["three tokens", "two tokens"])
@pytest.mark.parametrize("p_model", [0.3, 1.0])
def test_monte_carlo_converges_to_the_exact_gradient(p_model: float, y: Tokens) -> None:
    model, rows = PrefixModel(), 400
    expected = expected_loss(model, y, p_model)
    exact = gradient(expected, model)

    def estimate(seed: int) -> tuple[float, Tensor]:
        noise = torch.Generator().manual_seed(seed)
        proposal = scheduled_sampling(model.decoder(rows), references((y,), rows), p_model, noise)
        loss = token_losses(model.head, proposal).sum() / rows
        return loss.item(), gradient(loss, model)

    losses, gradients = zip(*(estimate(seed) for seed in range(25)), strict=True)
    drawn = torch.stack(gradients)
    bound = STANDARD_ERRORS * drawn.std(0) / math.sqrt(len(drawn)) + 1e-7
    assert ((drawn.mean(0) - exact).abs() <= bound).all()
    assert bound.norm() < 0.3 * exact.norm()
    assert sum(losses) / len(losses) == pytest.approx(expected.item(), rel=0.02)
    apart = (drawn.mean(0) - gradient(expected_loss(model, y, 0.0), model)).abs()
    assert (apart > 2 * bound).any(), "what is read must matter"


def test_without_a_model_token_it_is_maximum_likelihood_to_the_bit() -> None:
    model, decoder = model_and_decoder()
    ours = loss_and_gradients(model, scheduled_sampling(decoder, REFERENCES, 0.0, generator()))
    model, decoder = model_and_decoder()
    torch.testing.assert_close(ours, loss_and_gradients(model, mle(decoder, REFERENCES)), rtol=0, atol=0)


def test_before_its_delay_a_step_is_that_of_maximum_likelihood() -> None:
    """Through the settings, dropout and divisor included."""
    found = []
    for settings in (ScheduledSampling(p_model=1.0, p_model_delay=3), Mle()):
        model, batch = new_model(dropout=0.5)
        torch.manual_seed(7)
        proposal = settings.build(lambda: pytest.fail("no reward is asked for"), 6).propose(
            model, batch, 2, generator()
        )
        found.append((proposal.divisor, *loss_and_gradients(model, proposal)))
    torch.testing.assert_close(found[0], found[1], rtol=0, atol=0)


def test_the_tokens_that_are_read_are_the_references_or_the_models() -> None:
    _, decoder = model_and_decoder()
    own = torch.tensor([[0, 1, 0, 0], [1, 1, 1, 1], [0, 0, 1, 1], [1, 0, 1, 1]], dtype=torch.bool)
    chances = torch.rand(4, 4, generator=generator())
    taken: list[Tensor] = []

    class Watched:
        def __init__(self) -> None:
            self.inner = decoder.rollout(4)

        def step(self, tokens: Tensor) -> Tensor:
            taken.append(tokens)
            return self.inner.step(tokens)

    read(Watched(), decoder.head, REFERENCES, own, chances)  # type: ignore[arg-type]
    r = torch.stack(taken, 1)
    assert r[:, 0].tolist() == [BOS] * 4 and r.shape == REFERENCES.shape
    features = StepByStep(decoder.model, decoder.state).unroll(r)
    for row in range(4):
        for t in range(3):
            needed = REFERENCES[row, t + 1] != PAD
            drawn = decoder.head.sample(features[row, t][None], chances[row, t][None])
            expected = drawn.item() if own[row, t] and needed else REFERENCES[row, t].item()
            assert r[row, t + 1] == expected
    assert (r[:, 1:] != REFERENCES[:, :-1]).any()


def test_every_token_of_the_reference_is_a_target() -> None:
    _, decoder = model_and_decoder()
    proposal = scheduled_sampling(decoder, REFERENCES, 1.0, generator())
    assert proposal.tokens.tolist() == mle(decoder, REFERENCES).tokens.tolist()
    assert proposal.coefficients.tolist() == [1.0] * len(proposal.tokens)


def test_a_batch_of_single_ends() -> None:
    """Nothing is read but `<s>`."""
    model, batch = new_model(dropout=0.0)
    ends = torch.full((4, 1), EOS)
    batch = Batch(batch.source, batch.source_length, ends, torch.ones(4, dtype=torch.long), ends[:, None])
    proposal = ScheduledSampling(p_model=1.0).build(pytest.fail, 6).propose(model, batch, 0, generator())
    assert proposal.tokens.tolist() == [EOS] * 4 and proposal.features.isfinite().all()


def test_the_schedule() -> None:
    at_once, linear = ScheduledSampling(p_model=0.4), ScheduledSampling(p_model=0.4, p_model_delay=10, p_model_rise=20)
    assert at_once.p_model_at(0) == 0.4
    assert [linear.p_model_at(step) for step in (0, 9, 10, 20, 30, 99)] == pytest.approx([0, 0, 0, 0.2, 0.4, 0.4])
    curved = ScheduledSampling(p_model=0.5, p_model_delay=3, p_model_rise=50, p_model_shape="sigmoid")
    for step in (3, 10, 100, 400):
        i = step - 3
        assert curved.p_model_at(step) == pytest.approx(0.5 * (1 - 50 / (50 + math.exp(i / 50))))
    assert curved.p_model_at(2) == 0 and curved.p_model_at(10**9) == 0.5
    assert curved.p_model_at(3 + round(50 * math.log(50))) == pytest.approx(0.25, rel=0.01)


def test_its_name_and_its_rules() -> None:
    late = ScheduledSampling(p_model=0.5, p_model_delay=5, p_model_rise=9)
    assert ScheduledSampling().label == "Scheduled sampling 0.25" and late.label == "Scheduled sampling 0.5 late rising"
    assert not late.is_rewarded and not late.is_the_papers and late.kind == "scheduled-sampling"
    with pytest.raises(InputError, match=r"p_model must be between 0 and 1, not 1\.5"):
        ScheduledSampling(p_model=1.5)
    with pytest.raises(InputError, match="p_model_rise must be at least 0, 1 of a sigmoid, not 0"):
        ScheduledSampling(p_model_shape="sigmoid")
