"""Targets of each method: counted right, scored right, and the methods' limits meet."""

import pytest
import torch

from bangbang.explanation import Subject, Targets, draw_targets
from bangbang.explanation.targets import Methods, finite_spg
from bangbang.objectives import mle, token_losses
from bangbang.objectives.settings import Mle, Raml, Spg
from bangbang.symbols import BOS, EOS, PAD

SAMPLES = 40


def drawn(subject: Subject, methods: Methods, seed: int = 1) -> dict[str, Targets]:
    return {each.method: each for each in draw_targets(subject, methods, SAMPLES, seed)}


@pytest.fixture(scope="module")
def found(subject: Subject) -> dict[str, Targets]:
    return drawn(subject, Methods.of(Mle(), 0))


def test_every_method_draws_as_many(found: dict[str, Targets]) -> None:
    assert list(found) == ["MLE", "RAML", "bang-bang SPG", "SPG", "PG"]
    for each in found.values():
        assert each.samples == SAMPLES
        counts = [target.times for target in each.targets]
        assert counts == sorted(counts, reverse=True)
        assert each.mean("reward") == pytest.approx(sum(t.times * t.reward for t in each.targets) / SAMPLES)


def test_maximum_likelihood_has_one_target(subject: Subject, found: dict[str, Targets]) -> None:
    (only,) = found["MLE"].targets
    assert only.times == SAMPLES and only.reward == 1 and only.ended
    assert only.text == subject.text(subject.references[0].tolist())
    with torch.no_grad():
        losses = token_losses(subject.decoder.head, mle(subject.decoder, subject.references))
    assert only.log_p == pytest.approx(-float(losses.sum()), rel=1e-5)


def test_rewards_fall_from_the_reference_to_the_model(found: dict[str, Targets]) -> None:
    assert found["MLE"].mean("reward") > found["bang-bang SPG"].mean("reward") > found["PG"].mean("reward")
    assert found["MLE"].mean("reward") > found["RAML"].mean("reward")


def test_scores_are_the_literal_ones(subject: Subject) -> None:
    size, model = len(subject.run.vocabulary), subject.decoder.model
    words = torch.randint(EOS + 1, size, (5, 6), generator=torch.Generator().manual_seed(4))
    for row, length in enumerate((6, 1, 3, 5, 2)):
        words[row, length - 1 :] = PAD
        words[row, length - 1] = EOS if row else 4  # the first one has not ended
    words[4, :2] = subject.references[0, :2]
    together = subject.rewards(words), subject.log_probabilities(words)
    for row, tokens in enumerate(words.tolist()):
        state, last, log_p = subject.decoder.state, BOS, 0.0
        alone = subject.reward.parts[0].start(subject.references)
        for token in (token for token in tokens if token != PAD):
            with torch.no_grad():
                state, features = model.step(state, torch.tensor([last]))
                log_p += float(model.head.logits(features).log_softmax(1)[0, token])
            alone.advance(torch.tensor([token]))
            last = token
        assert float(together[0][row]) == pytest.approx(float(alone.value()))
        assert float(together[1][row]) == pytest.approx(log_p, rel=1e-4)
    assert float(together[0][4]) > 0


def test_limits(subject: Subject, found: dict[str, Targets]) -> None:
    strong = drawn(subject, Methods.of(Mle(), 0, p_drop=0.0, weight=1e4))
    assert strong["SPG"].targets == strong["bang-bang SPG"].targets == found["MLE"].targets
    weak = drawn(subject, Methods.of(Mle(), 0, p_drop=1.0))
    assert weak["bang-bang SPG"].mean("reward") < found["bang-bang SPG"].mean("reward")
    assert weak["RAML"] == found["RAML"] and weak["PG"] == found["PG"]
    assert drawn(subject, Methods.of(Mle(), 0), seed=2)["PG"] != found["PG"]


def test_settings_of_the_runs_own_method(subject: Subject, found: dict[str, Targets]) -> None:
    own = Raml(payoff="reward", tau=0.02)
    assert drawn(subject, Methods.of(own, 0))["RAML"].mean("reward") > found["RAML"].mean("reward")
    assert finite_spg(Spg(reward_weight=4.0)).rules.weight == 4.0
