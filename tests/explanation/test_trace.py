"""A trace tells what the sampler, the reward and the model did: each number is found again by other means."""

import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from bangbang.data.settings import BytePairs
from bangbang.explanation import Subject, Trace, trace
from bangbang.explanation.targets import bang_bang
from bangbang.explanation.trace import proposal
from bangbang.objectives import Rules, Sampling, spg, token_losses
from bangbang.objectives.settings import BangBang, Spg
from bangbang.rewards import Dup, Eos, FunctionReward, RougeN, Sum, dense
from bangbang.symbols import BOS, EOS, SYMBOLS
from bangbang.training import Run

HALF = Sampling(p_drop=0.5)
FINITE = Sampling(p_drop=0.3, rules=Rules(weight=8.0))
IN_ORDER = Sampling(p_drop=0.5, rules=Rules(ties="reference"))
COOL = Sampling(p_drop=0.5, weight_by_reward=False, rules=Rules(temperature=0.7, top_k=5))
WITH_Y = Sampling(p_drop=0.5, ends="reference")
SEEDS = range(1, 8)
every_setting = pytest.mark.parametrize(
    "settings", [HALF, FINITE, IN_ORDER, COOL, WITH_Y], ids=["half", "finite", "in order", "cool", "ends"]
)


def traces(subject: Subject, settings: Sampling) -> list[Trace]:
    return [trace(subject, settings, seed) for seed in SEEDS]


@every_setting
def test_it_is_the_target_that_training_draws_with_its_loss(subject: Subject, settings: Sampling) -> None:
    for seed in SEEDS:
        found = trace(subject, settings, seed)
        generator = torch.Generator().manual_seed(seed)
        arguments = subject.decoder, subject.reward, subject.references, subject.max_length, settings, generator
        with torch.no_grad():
            shipped = spg(*arguments)
            losses = token_losses(subject.decoder.head, shipped)
        assert [step.id for step in found.steps if step.in_loss] == shipped.tokens.tolist()
        assert shipped.diagnostics.sample_tokens == len(found.steps)
        assert shipped.diagnostics.tied_tokens == sum(step.tied for step in found.steps)
        assert found.loss == pytest.approx(float(losses.sum()), abs=1e-5)


def test_the_model_has_no_dropout(subject: Subject) -> None:
    assert subject.run.config.model.dropout > 0 and not subject.decoder.model.training
    assert trace(subject, HALF, 1) == trace(subject, HALF, 1)


def test_an_end_that_the_reference_gives_is_told_as_such(subject: Subject) -> None:
    length, given = len(subject.y[0]), 0
    for found in traces(subject, WITH_Y):
        *before, last = found.steps
        assert len(found.steps) <= length and last.id == EOS
        assert all(step.chosen_by != "reference" for step in before)
        assert (last.chosen_by == "reference") == (len(found.steps) == length)
        given += last.chosen_by == "reference"
        if last.chosen_by == "reference":
            assert [each.proposal for each in last.candidates if each.chosen] == [1.0]
    assert given > 0


def test_in_loss_where_w_is_not_zero(subject: Subject) -> None:
    for seed in SEEDS:
        coins = torch.rand(2, 1, subject.max_length, generator=torch.Generator().manual_seed(seed))[0, 0]
        steps = trace(subject, HALF, seed).steps
        assert [step.in_loss for step in steps] == (coins[: len(steps)] >= 0.5).tolist()
        assert all(step.in_loss == (step.chosen_by == "reward") for step in steps)


@every_setting
def test_increments_are_the_rewards_own(subject: Subject, settings: Sampling) -> None:
    size = len(subject.run.vocabulary)
    for found in traces(subject, settings):
        state = subject.reward.start(subject.references)
        for step in found.steps:
            increments = state.increments()
            delta_r = dense(increments, size)[0]
            assert step.delta_r == float(delta_r[step.id])
            assert step.others_delta_r == float(increments.total.rest)
            for each in step.candidates:
                assert each.delta_r == float(delta_r[each.id])
                assert sum(each.parts.values()) == pytest.approx(each.delta_r, abs=1e-6)
                assert each.best == (each.delta_r == float(delta_r[EOS:].max()))
            assert step.best_count == int((delta_r[EOS:] == delta_r[EOS:].max()).sum())
            state.advance(torch.tensor([step.id]))
            assert step.reward == pytest.approx(float(state.main_value()))
        assert found.reward == pytest.approx(found.steps[-1].reward)


def test_probabilities_are_a_literal_forward_pass(subject: Subject) -> None:
    model = subject.decoder.model
    for found in traces(subject, HALF):
        state, last, log_p = subject.decoder.state, BOS, 0.0
        for step in found.steps:
            with torch.no_grad():
                state, features = model.step(state, torch.tensor([last]))
                logits = features @ model.head.weight.t() + model.head.bias
                p = torch.cat((torch.full((1, EOS), -torch.inf), logits[:, EOS:]), 1).softmax(1)[0]
            assert step.probability == pytest.approx(float(p[step.id]), rel=1e-4, abs=1e-7)
            assert step.rank == 1 + int((p > p[step.id]).sum())
            assert step.favourite == subject.word(int(p.argmax()))
            for each in step.candidates:
                assert each.probability == pytest.approx(float(p[each.id]), rel=1e-4, abs=1e-7)
            last, log_p = step.id, log_p + math.log(p[step.id])
        assert found.log_p == pytest.approx(log_p, rel=1e-4)


def test_others_are_all_that_the_reward_does_not_tell_apart(subject: Subject) -> None:
    for found in traces(subject, HALF):
        state = subject.reward.start(subject.references)
        for step in found.steps:
            known = set(state.increments().tokens[0].tolist())
            shown = sum(each.probability for each in step.candidates if each.id not in known)
            assert shown <= step.others_probability + 1e-6
            assert step.others_probability <= 1
            state.advance(torch.tensor([step.id]))


@every_setting
def test_what_was_chosen_could_be_drawn(subject: Subject, settings: Sampling) -> None:
    for step in (step for found in traces(subject, settings) for step in found.steps):
        chosen = [each for each in step.candidates if each.chosen]
        assert [each.id for each in chosen] == [step.id] and chosen[0].proposal > 0
        assert sum(each.proposal for each in step.candidates) <= 1 + 1e-5
        if step.in_loss and math.isinf(settings.rules.weight):
            assert all(each.best or each.proposal == 0 for each in step.candidates)


def test_ties_are_told(subject: Subject) -> None:
    steps = [step for found in traces(subject, HALF) for step in found.steps]
    tied = [step for step in steps if step.tied]
    assert tied and all(step.in_loss and step.best_count > 1 for step in tied)
    assert any(not step.tied and step.in_loss and step.best_count == 1 for step in steps)
    for step in tied:
        best = [each for each in step.candidates if each.best]
        if len(best) == step.best_count:  # all of them are shown
            assert sum(each.proposal for each in best) == pytest.approx(1)


def test_parts_carry_their_weights(subject: Subject) -> None:
    weighted = replace(subject, reward=Sum(RougeN(), Dup(), Eos(), weights=[1.0, 0.25, 3.0]))
    found = [each for step in trace(weighted, Sampling(p_drop=0.5)).steps for each in step.candidates]
    assert all(sum(each.parts.values()) == pytest.approx(each.delta_r, abs=1e-6) for each in found)
    assert {each.parts["Eos"] for each in found} == {0.0, -3.0} and {each.parts["Dup"] for each in found} == {
        0.0,
        -0.25,
    }


def test_the_proposal_is_its_equation() -> None:
    log_p = torch.tensor([0.1, 0.2, 0.3, 0.4]).log()
    delta_r = torch.tensor([0.5, 0.1, 0.5, -1.0])
    best = torch.tensor([True, False, True, False])
    ways = [
        (Rules(), True, [0.25, 0, 0.75, 0]),
        (Rules(), False, [0.1, 0.2, 0.3, 0.4]),
        (Rules(ties="reference"), True, [0, 0, 1, 0]),
        (Rules(top_k=2), False, [0, 0, 3 / 7, 4 / 7]),
        (Rules(temperature=0.5), False, [1 / 30, 4 / 30, 9 / 30, 16 / 30]),
    ]
    for rules, driven, expected in ways:
        assert proposal(log_p, delta_r, best, 2, driven, rules).tolist() == pytest.approx(expected)
    mass = (log_p + 2 * delta_r).exp()
    assert proposal(log_p, delta_r, best, 2, True, Rules(2.0)).tolist() == pytest.approx((mass / mass.sum()).tolist())


def test_limits_of_p_drop(subject: Subject) -> None:
    reward_alone = trace(subject, Sampling(p_drop=0.0))
    assert [step.id for step in reward_alone.steps] == subject.references[0].tolist()
    assert reward_alone.reward == reward_alone.reference_reward == 1 and all(
        step.in_loss for step in reward_alone.steps
    )
    assert all(step.token == step.reference for step in reward_alone.steps)
    model_alone = trace(subject, Sampling(p_drop=1.0))
    assert model_alone.loss == 0 and not any(step.in_loss for step in model_alone.steps)


def test_the_end_is_written_out(subject: Subject) -> None:
    found = trace(subject, Sampling(p_drop=0.0))
    assert found.steps[-1].token == SYMBOLS[EOS]
    assert found.text == " ".join(step.token for step in found.steps[:-1])


def test_settings_come_from_a_bang_bang_run_and_else_are_defaults() -> None:
    own = BangBang(p_drop=0.8, reward_weight=5.0, p_drop_delay=100)
    assert bang_bang(own, 100).p_drop == 0.8 and bang_bang(own, 99).p_drop == 0.0
    assert bang_bang(own, 0, 0.3).p_drop == 0.3 and bang_bang(own, 0).rules.weight == 5.0
    other = bang_bang(Spg(reward_weight=5.0), 0)
    assert other.p_drop == BangBang().p_drop and math.isinf(other.rules.weight)


def test_words_are_readable_and_safe_to_print(subject: Subject, tmp_path: Path) -> None:
    pieces = BytePairs(size=300).build(["a clock für dich"] * 3)
    odd = replace(subject, run=Run(tmp_path, subject.run.config, pieces))
    words = [odd.word(token) for token in range(len(pieces))]
    assert words[:4] == list(SYMBOLS) and "␣clock" in words
    assert all(word.isprintable() and word.strip() for word in words)
    assert len(set(words)) == len(words)


def test_forbidden_tokens_are_never_the_best_however_light_the_penalty(subject: Subject) -> None:
    stutter = FunctionReward(lambda z, ys: sum(a == b for a, b in pairwise(z)) / 10)
    light = replace(subject, reward=Sum(stutter, Dup(), Eos(), weights=[1.0, 1e-6, 1e-6]))
    forbidden = [
        (step, each)
        for seed in SEEDS
        for step in trace(light, HALF, seed).steps
        for each in step.candidates
        if each.parts["Eos"] < 0 or each.parts["Dup"] < 0
    ]
    assert any(each.delta_r > other.delta_r for step, each in forbidden for other in step.candidates if other.best)
    for step, each in forbidden:
        assert not each.best and (each.proposal == 0 or not step.in_loss)


def test_the_loss_is_weighted_by_a_share_and_the_reward_is_shown_as_it_is(subject: Subject) -> None:
    tenfold = FunctionReward(lambda z, ys: 10 * len(set(z) & set(ys[0])) / len(set(ys[0])), bounds=(0, 10))
    found = trace(replace(subject, reward=Sum(tenfold, Dup(), weights=[0.1, 1.0])), Sampling(p_drop=0.0))
    assert found.reward == found.reference_reward == 10 and found.loss_weight == 1
