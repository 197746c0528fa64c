"""A policy gradient with a share of likelihood is the exact convex combination of the two."""

import dataclasses

import pytest
import torch
from torch import Tensor

from bangbang.contracts import Batch, Proposal
from bangbang.errors import InputError
from bangbang.models import AttentionGru
from bangbang.models.settings import AttentionGruSettings
from bangbang.objectives.settings import Mle, ObjectiveSettings, Rloo, Scst
from bangbang.rewards import RougeN
from bangbang.symbols import PAD
from bangbang.training.learner import Learner
from tests.objectives.test_limits import REFERENCES, Constant, generator

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


@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_shares_that_are_none_are_refused(share: float) -> None:
    with pytest.raises(InputError, match=r"objective\.likelihood must be at least 0 and below 1, not"):
        Rloo(likelihood=share)


def test_reports_name_it() -> None:
    assert Rloo(likelihood=0.1).label == "RLOO + MLE 0.1" and Scst(likelihood=0.25).label == "SCST + MLE 0.25"
