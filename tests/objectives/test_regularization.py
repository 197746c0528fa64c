"""A share of likelihood is an exact convex combination; the divergence from the start is that of all sequences."""

import dataclasses
import math
from itertools import product

import pytest
import torch
from torch import Tensor

from bangbang.contracts import Batch, Proposal
from bangbang.errors import InputError
from bangbang.models import AttentionGru
from bangbang.models.settings import AttentionGruSettings
from bangbang.objectives import rloo, scst, token_losses
from bangbang.objectives.policy_gradients import model_samples
from bangbang.objectives.regularization import Anchor
from bangbang.objectives.settings import Mle, ObjectiveSettings, Rloo, Scst
from bangbang.rewards import RougeN
from bangbang.symbols import PAD
from bangbang.training.learner import Learner
from tests.objectives.test_exact import REWARD, STANDARD_ERRORS, Y, references
from tests.objectives.test_limits import REFERENCES, Constant, generator
from tests.objectives.test_rloo import policy_gradient
from tests.oracles.enumeration import TIME, PrefixModel, Tokens, gradient, sequences

LENGTH = 6
KINDS = pytest.mark.parametrize(
    "settings",
    [Rloo(samples=3), Rloo(samples=2, credit="token"), Scst(samples=2), Rloo(samples=3, normalizer="positions")],
    ids=["rloo", "by the token", "scst", "by positions"],
)


def new_model(dropout: float) -> tuple[AttentionGru, Batch]:
    torch.manual_seed(0)
    model = AttentionGru(12, AttentionGruSettings(layers=2, units=8, dropout=dropout))
    source, lengths = torch.randint(4, 12, (4, 6)), (REFERENCES != PAD).sum(1)
    return model, Batch(source, torch.tensor([6, 2, 4, 6]), REFERENCES, lengths, REFERENCES[:, None])


def loss_and_gradient(settings: ObjectiveSettings, reward=None, several: bool = False) -> tuple[Tensor, Tensor]:
    """As a training step has them: the sum of the losses over the divisor."""
    model, batch = new_model(dropout=0.0)
    batch = with_other_references(batch) if several else batch
    learner = Learner(model, settings.build(lambda: reward or RougeN(3), LENGTH))
    losses, divisor, _ = learner(batch, 0, generator())
    loss = losses.sum() / divisor
    found = torch.autograd.grad(loss, list(model.parameters()))
    return loss.detach(), torch.cat([each.flatten() for each in found])


@pytest.mark.parametrize("settings", [Rloo(samples=3), Scst(samples=2)], ids=["rloo", "scst"])
def test_dropout_can_be_left_out(settings: ObjectiveSettings) -> None:
    """Without it, what is sampled and trained is the model that decodes, to the bit; and it is put back afterwards."""
    found = {}
    for rate, asked in ((0.0, False), (0.5, False), (0.5, True)):
        model, batch = new_model(dropout=rate)
        objective = dataclasses.replace(settings, dropout=asked).build(lambda: RougeN(3), LENGTH)
        losses = Learner(model.train(), objective)(batch, 0, generator()).losses
        gradients = torch.autograd.grad(losses.sum(), list(model.parameters()))
        found[rate, asked] = torch.cat([each.flatten() for each in gradients])
        assert all(module.training for module in model.modules())
    assert torch.equal(found[0.0, False], found[0.5, False])
    assert not torch.equal(found[0.5, False], found[0.5, True])


def with_other_references(batch: Batch) -> Batch:
    """A second reference of each row, which the target is not."""
    other = batch.target.flip(0)
    return batch._replace(references=torch.stack((batch.target, other), 1))


def changed(settings: ObjectiveSettings, **fields: float) -> ObjectiveSettings:
    return dataclasses.replace(settings, **fields)


@KINDS
@pytest.mark.parametrize("several", [False, True], ids=["one reference", "two references"])
@pytest.mark.parametrize("share", [0.1, 0.75])
def test_loss_and_gradient_are_the_convex_combination(settings, several: bool, share: float) -> None:
    loss, gradient = loss_and_gradient(changed(settings, likelihood=share), several=several)
    sampled, known = loss_and_gradient(settings, several=several), loss_and_gradient(Mle(), several=several)
    assert sampled[1].norm() > 1e-3 and known[1].norm() > 1e-3
    torch.testing.assert_close(loss, (1 - share) * sampled[0] + share * known[0])
    torch.testing.assert_close(gradient, (1 - share) * sampled[1] + share * known[1], rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("normalizer", ["constant", "sequences", "positions"])
def test_where_no_sample_teaches_likelihood_is_left(normalizer) -> None:
    """All rewards are equal: no position is sampled, whatever the sum is divided by."""
    settings = Rloo(samples=2, likelihood=0.25, normalizer=normalizer)
    loss, gradient = loss_and_gradient(settings, Constant())
    known = loss_and_gradient(Mle())
    torch.testing.assert_close(loss, 0.25 * known[0])
    torch.testing.assert_close(gradient, 0.25 * known[1], rtol=1e-4, atol=1e-7)


def test_the_encoder_runs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    encode, calls = AttentionGru.encode, []
    monkeypatch.setattr(AttentionGru, "encode", lambda *given: calls.append(1) or encode(*given))
    loss_and_gradient(Rloo(samples=2, likelihood=0.5))
    assert len(calls) == 1


def proposal_of(settings: ObjectiveSettings) -> Proposal:
    model, batch = new_model(dropout=0.5)
    torch.manual_seed(1)
    return settings.build(lambda: RougeN(3), LENGTH).propose(model.train(), batch, 0, generator())


def test_the_samples_are_those_without_it_also_with_dropout() -> None:
    alone, mixed = proposal_of(Rloo(samples=2)), proposal_of(Rloo(samples=2, likelihood=0.5))
    count = len(alone.tokens)
    assert mixed.tokens[:count].tolist() == alone.tokens.tolist()
    assert torch.equal(mixed.features[:count], alone.features)
    assert sorted(mixed.tokens[count:].tolist()) == sorted(REFERENCES[REFERENCES != PAD].tolist())
    assert mixed.diagnostics == alone.diagnostics and mixed.divisor == alone.divisor == 4 * 2 * LENGTH


# the divergence from the start


def divergence(model: PrefixModel, start: PrefixModel) -> Tensor:
    """KL(p || p_0) = Σ_z p(z) (log p(z) - log p_0(z))"""
    terms = [(model.sequence_log_p(z), start.sequence_log_p(z).detach()) for z in sequences()]
    return torch.stack([log_p.exp() * (log_p - log_q) for log_p, log_q in terms]).sum()


def still_diverges(model: PrefixModel, start: PrefixModel, z: Tokens) -> list[float]:
    """K_t of each token, and 0 for what is not there."""
    ratios = [(model.log_p(z[:t])[v] - start.log_p(z[:t])[v]).item() for t, v in enumerate(z)]
    return [sum(ratios[t:]) for t in range(TIME)]


def test_what_still_diverges_less_that_of_another_sample_has_its_gradient() -> None:
    """Σ_{z,z'} p(z) p(z') Σ_t (K_t - K'_t) ∂log p(z_t | z_{1:t-1}) = ∂KL."""
    model, start = PrefixModel(), PrefixModel(seed=5)
    p = {z: model.sequence_log_p(z).exp().item() for z in sequences()}
    left = {z: still_diverges(model, start, z) for z in p}
    mean = [sum(p[z] * left[z][t] for z in p) for t in range(TIME)]
    terms = [p[z] * (left[z][t] - mean[t]) * model.log_p(z[:t])[v] for z in p for t, v in enumerate(z)]
    torch.testing.assert_close(gradient(torch.stack(terms).sum(), model), gradient(divergence(model, start), model))


@pytest.mark.parametrize("samples", [1, 3])
def test_weights_are_advantages_less_what_still_diverges(samples: int) -> None:
    model, start, rows = PrefixModel(), PrefixModel(seed=5), 6
    batch, greedy = references(Y, rows), torch.tensor([[4, 2]]).expand(rows, 2)
    anchor = Anchor(start.decoder(rows), samples, 0.3)
    free = scst(model.decoder(rows), REWARD, batch, greedy, TIME, samples, generator())
    tied = scst(model.decoder(rows), REWARD, batch, greedy, TIME, samples, generator(), anchor)
    _, sample = model_samples(model.decoder(rows), REWARD, batch, TIME, samples, generator())
    drawn = [tuple(v for v in z if v != PAD) for z in sample.tokens.tolist()]
    left = [still_diverges(model, start, z) for z in drawn]
    counted = [(t, row) for t, row in product(range(TIME), range(rows * samples)) if t < len(drawn[row])]
    advantages = dict(zip([place for place in counted if weight_of(place, sample)], free.coefficients, strict=True))
    for (t, row), weight in zip(counted, tied.coefficients.tolist(), strict=True):
        others = [left[k][t] for k in range(rows * samples) if k // samples == row // samples and k != row]
        baseline = sum(others) / len(others) if others else 0.0
        expected = float(advantages.get((t, row), 0.0)) - 0.3 * (left[row][t] - baseline)
        assert weight == pytest.approx(expected, abs=1e-6)
    assert tied.tokens.tolist() == [drawn[row][t] for t, row in counted] and tied.diagnostics == free.diagnostics


def weight_of(place: tuple[int, int], sample) -> bool:
    """Whether a token of a sample counts by reward, where the greedy output is the first word alone."""
    state = REWARD.start(references(Y, 1))
    for token in (4, 2):
        state.advance(torch.tensor([token]))
    return bool(sample.shares[place[1]] != state.loss_weight().float())


def test_its_mean_is_the_gradient_of_reward_less_divergence() -> None:
    model, start, weight, samples = PrefixModel(), PrefixModel(seed=5), 0.5, 4
    rows = 400 // samples

    def estimate(seed: int) -> Tensor:
        noise, anchor = torch.Generator().manual_seed(seed), Anchor(start.decoder(rows), samples, weight)
        given = model.decoder(rows), REWARD, references(Y, rows), TIME, samples, "token", noise, anchor
        return gradient(token_losses(model.head, rloo(*given)).sum() / (rows * samples), model)

    drawn = torch.stack([estimate(seed) for seed in range(25)])
    exact = policy_gradient(model) + weight * gradient(divergence(model, start), model)
    bound = STANDARD_ERRORS * drawn.std(0) / math.sqrt(len(drawn)) + 1e-7
    assert ((drawn.mean(0) - exact).abs() <= bound).all()
    assert bound.norm() < 0.6 * exact.norm()
    assert not ((drawn.mean(0) - policy_gradient(model)).abs() <= bound).all()


def test_at_its_start_there_is_nothing_to_hold() -> None:
    model, batch = new_model(dropout=0.0)
    objective = Rloo(samples=2, kl=10.0).build(Constant, LENGTH)
    objective.begin_stage(new_model(dropout=0.5)[0].eval().requires_grad_(False))
    proposal = objective.propose(model.train(), batch, 0, generator())
    assert len(proposal.tokens) == proposal.diagnostics.sample_tokens
    torch.testing.assert_close(proposal.coefficients, torch.zeros_like(proposal.coefficients), atol=1e-4, rtol=0)


def test_without_a_start_it_says_so() -> None:
    model, batch = new_model(dropout=0.0)
    with pytest.raises(InputError, match="call begin_stage first"):
        Rloo(kl=0.1).build(lambda: RougeN(3), LENGTH).propose(model, batch, 0, generator())


@pytest.mark.parametrize("weight", [-0.1, math.inf, math.nan])
def test_weights_that_are_none_are_refused(weight: float) -> None:
    with pytest.raises(InputError, match=r"objective\.kl must be at least 0 and finite, not"):
        Scst(kl=weight)


@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_shares_that_are_none_are_refused(share: float) -> None:
    with pytest.raises(InputError, match=r"objective\.likelihood must be at least 0 and below 1, not"):
        Rloo(likelihood=share)


def test_reports_name_it() -> None:
    assert Rloo(likelihood=0.1).label == "RLOO + MLE 0.1" and Scst(likelihood=0.25, kl=0.02).label.endswith("+ KL 0.02")
    assert Rloo(kl=0.1).needs_start and not Rloo(likelihood=0.1).needs_start
