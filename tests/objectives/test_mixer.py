"""MIXER against sums over all continuations, as maximum likelihood at its start and as leave-one-out at its end."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from bangbang.contracts import Batch
from bangbang.errors import InputError
from bangbang.objectives import mixer, rloo, sampler, token_losses
from bangbang.objectives.mixed_incremental import beginnings
from bangbang.objectives.policy_gradients import model_samples
from bangbang.objectives.settings import Mixer, Mle
from bangbang.rewards import FunctionReward
from bangbang.symbols import BOS, EOS, PAD, UNK
from tests.objectives.test_exact import REWARD, STANDARD_ERRORS, TWO, Y, references
from tests.objectives.test_limits import REFERENCES, Constant, generator, loss_and_gradients, model_and_decoder
from tests.objectives.test_rloo import uneven
from tests.objectives.test_scst import new_model
from tests.oracles.enumeration import TIME, PrefixModel, Tokens, gradient, main_reward, sequences


def expected_loss(model: PrefixModel, several: tuple[Tokens, ...], suffix: int) -> Tensor:
    """-log p(y_{1:s}) - Σ_z p(z | y_{1:s}) R(z) over all z that begin with y_{1:s}, s = |y| - Δ; y is the first."""
    y = several[0]
    start = y[: max(0, len(y) - suffix)]
    begun = model.sequence_log_p(start)
    going_on = [z for z in sequences() if z[: len(start)] == start]
    chances = [(model.sequence_log_p(z) - begun).exp() for z in going_on]
    assert torch.stack(chances).sum().item() == pytest.approx(1)
    return -begun - torch.stack([p * main_reward(z, several) for p, z in zip(chances, going_on, strict=True)]).sum()


@pytest.mark.parametrize("several", [Y, TWO], ids=["one reference", "two references"])
@pytest.mark.parametrize(("suffix", "samples"), [(1, 2), (2, 4)])
def test_monte_carlo_converges_to_the_exact_gradient(suffix: int, samples: int, several: tuple[Tokens, ...]) -> None:
    model, rows = PrefixModel(), 400 // samples
    exact = gradient(expected_loss(model, several, suffix), model)
    targets = references(several[:1], rows)

    def estimate(seed: int) -> Tensor:
        noise = torch.Generator().manual_seed(seed)
        known = references(several, rows)
        proposal = mixer(model.decoder(rows), REWARD, targets, known, TIME, suffix, samples, noise)
        return gradient(token_losses(model.head, proposal).sum() / (rows * samples), model)

    drawn = torch.stack([estimate(seed) for seed in range(25)])
    bound = STANDARD_ERRORS * drawn.std(0) / math.sqrt(len(drawn)) + 1e-7
    assert ((drawn.mean(0) - exact).abs() <= bound).all()
    assert bound.norm() < 0.6 * exact.norm()


@pytest.mark.parametrize("normalizer", ["positions", "sequences", "constant"])
def test_before_its_delay_a_step_is_that_of_maximum_likelihood_to_the_bit(normalizer: str) -> None:
    """Dropout and divisor included, and examples that can earn no reward."""
    found = []
    for settings in (Mixer(delay=3, normalizer=normalizer), Mle(normalizer=normalizer)):  # type: ignore[arg-type]
        model, batch = new_model(dropout=0.5)
        target = batch.target.clone()
        target[1, 0] = UNK
        torch.manual_seed(7)
        batch = batch._replace(target=target, references=target[:, None])
        proposal = settings.build(lambda: REWARD, 6).propose(model, batch, 2, generator())
        found.append((proposal.divisor, *proposal.diagnostics, *loss_and_gradients(model, proposal)))
    torch.testing.assert_close(found[0], found[1], rtol=0, atol=0)


def test_where_nothing_of_the_reference_is_left_it_is_leave_one_out_to_the_bit() -> None:
    reward = FunctionReward(uneven)
    model, decoder = model_and_decoder()
    ours = mixer(decoder, reward, REFERENCES, REFERENCES, 6, 4, 3, generator())
    found = loss_and_gradients(model, ours)
    model, decoder = model_and_decoder()
    theirs = rloo(decoder, reward, REFERENCES, 6, 3, "sequence", generator())
    assert ours.diagnostics == theirs.diagnostics and ours.tokens.tolist() == theirs.tokens.tolist()
    assert ours.coefficients.tolist() == theirs.coefficients.tolist()
    torch.testing.assert_close(found, loss_and_gradients(model, theirs), rtol=0, atol=0)


def test_the_targets_are_the_references_beginning_once_and_all_that_is_added(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the rollout leaves finished rows behind on the way."""
    monkeypatch.setattr(sampler, "DONE_SHARE", 0.1)
    monkeypatch.setattr(sampler, "FEW", 2)
    _, decoder = model_and_decoder()
    start = beginnings(REFERENCES, 2)
    assert start.tolist() == [[5, 6, PAD, PAD], [PAD] * 4, [9, PAD, PAD, PAD], [6, 5, PAD, PAD]]
    given = torch.cat((start, torch.full((4, 2), PAD)), 1).repeat_interleave(3, 0)
    reward = FunctionReward(uneven)
    _, sample = model_samples(decoder, reward, REFERENCES, 6, 3, generator(), given=given)
    assert (sample.tokens.where(given != PAD, PAD) == given).all() and (sample.tokens == PAD).any()
    proposal = mixer(decoder, reward, REFERENCES, REFERENCES, 6, 2, 3, generator())
    shares = sample.shares.view(4, 3)
    expected = []
    for t in range(6):
        for row, z in enumerate(sample.tokens):
            own, others = shares[row // 3, row % 3], shares[row // 3].sum() - shares[row // 3, row % 3]
            if given[row, t] != PAD:
                expected += [(int(z[t]), 3.0)] * (row % 3 == 0)
            elif z[t] != PAD:
                expected.append((int(z[t]), float(own - others / 2)))
    assert proposal.tokens.tolist() == [token for token, _ in expected]
    assert proposal.coefficients.tolist() == pytest.approx([weight for _, weight in expected])
    assert proposal.divisor == 3 * (REFERENCES != PAD).sum()


def test_the_features_of_a_given_token_are_those_that_reading_it_gives() -> None:
    """The loss of a beginning is that of maximum likelihood, J times."""
    model, decoder = model_and_decoder()
    proposal = mixer(decoder, Constant(), REFERENCES, REFERENCES, 6, 1, 2, generator())
    start = beginnings(REFERENCES, 1)
    assert len(proposal.tokens) == (start != PAD).sum(), "equal rewards teach nothing"
    read = torch.cat((torch.full((4, 1), BOS), REFERENCES[:, :-1]), 1)
    log_p = model.head.logits(decoder.unroll(read).flatten(0, 1)).log_softmax(1).view(4, 4, -1)
    each = log_p.gather(2, REFERENCES.unsqueeze(2)).squeeze(2)
    expected = -2 * each.t()[start.t() != PAD]
    torch.testing.assert_close(token_losses(model.head, proposal), expected)


def test_a_given_token_costs_no_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    _, decoder = model_and_decoder()
    sample, drawn = decoder.head.sample, list[int]()

    def counted(features: Tensor, *rest: Any) -> Tensor:
        drawn.append(len(features))
        return sample(features, *rest)

    monkeypatch.setattr(decoder.head, "sample", counted)
    mixed = mixer(decoder, REWARD, REFERENCES, REFERENCES, 6, 1, 2, generator())
    assert sum(drawn) == mixed.diagnostics.sample_tokens - 2 * (beginnings(REFERENCES, 1) != PAD).sum()


def test_several_references_reach_the_reward_and_the_first_is_the_target() -> None:
    model, batch = new_model(dropout=0.0)
    other = torch.tensor([[9, 8, EOS, PAD]]).expand(4, 4)
    seen = []

    def watched(z: list[int], references: list[list[int]]) -> float:
        seen.append(len(references))
        return uneven(z, references)

    batch = Batch(*batch[:4], torch.stack((batch.target, other), 1))
    objective = Mixer(samples=2, grow=1).build(lambda: FunctionReward(watched), 6)
    proposal = objective.propose(model, batch, 0, generator())
    assert set(seen) == {2} and proposal.divisor == 2 * (batch.target != PAD).sum()
    assert proposal.tokens[:4].tolist()[0] == 5 and proposal.diagnostics.samples == 8


def test_the_schedule_its_name_and_its_rules() -> None:
    settings = Mixer(delay=10, every=5, grow=3)
    assert [settings.suffix_at(step) for step in (0, 9, 10, 14, 15, 20)] == [0, 0, 3, 3, 6, 9]
    assert Mixer().label == "MIXER" and Mixer().is_rewarded and not Mixer().is_the_papers
    for key, least in (("samples", 2), ("delay", 0), ("every", 1), ("grow", 1)):
        with pytest.raises(InputError, match=f"objective.{key} must be at least {least}, not {least - 1}"):
            Mixer(**{key: least - 1})
