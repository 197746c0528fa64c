"""Optimal completion distillation: literally, on the reference's own prefixes, and where the reward is another."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from bangbang import config as configs
from bangbang.cli.main import main
from bangbang.errors import InputError
from bangbang.objectives import mle, ocd, token_losses
from bangbang.objectives.optimal_completion import best_tokens
from bangbang.objectives.policy_gradients import model_samples
from bangbang.objectives.settings import Ocd
from bangbang.rewards import Dup, EditDistance, Eos, RougeN, Sum
from bangbang.symbols import EOS, PAD
from bangbang.training.learner import Learner
from tests.objectives.test_exact import Y, references
from tests.objectives.test_limits import REFERENCES, generator, loss_and_gradients, model_and_decoder
from tests.objectives.test_regularization import LENGTH, new_model
from tests.oracles.enumeration import TIME, PrefixModel, gradient
from tests.rewards.test_completions import brute_force

REWARD = Sum(EditDistance(), Dup(), Eos())


def test_on_the_references_own_prefixes_it_is_maximum_likelihood() -> None:
    model, decoder = model_and_decoder()
    known = torch.nn.functional.pad(REFERENCES, (0, 6 - REFERENCES.shape[1]), value=PAD)
    ours = ocd(decoder, REWARD, REFERENCES, 6, 1, generator(), given=known)
    losses, gradients = loss_and_gradients(model, ours)
    model, decoder = model_and_decoder()
    theirs = mle(decoder, REFERENCES)
    assert ours.tokens.tolist() == theirs.tokens.tolist() and ours.coefficients.tolist() == theirs.coefficients.tolist()
    expected, exact = loss_and_gradients(model, theirs)
    torch.testing.assert_close(losses, expected)
    for name, found in gradients.items():
        torch.testing.assert_close(found, exact[name], rtol=1e-4, atol=1e-6, msg=name)


@pytest.mark.parametrize("as_sets", [False, True], ids=["even shares", "sets"])
def test_every_prefix_of_a_sample_is_taught_its_best_tokens(as_sets: bool) -> None:
    """Against the literal formula, with the sets of all completions, in value and in gradient."""
    model, rows, samples = PrefixModel(), 5, 4
    batch = references(Y, rows)
    _, sample = model_samples(model.decoder(rows), REWARD, batch, TIME, samples, generator())
    drawn = [tuple(v for v in z if v != PAD) for z in sample.tokens.tolist()]
    expected, sizes = torch.zeros((), dtype=torch.float64), set()
    for z in drawn:
        for t in range(len(z)):
            best, log_p = sorted(brute_force(list(z[:t]), [list(Y[0][:-1])])), model.log_p(z[:t])
            expected = expected - (log_p[best].logsumexp(0) if as_sets else log_p[best].mean())
            sizes.add(len(best))
    assert sizes >= {1, 2}, "some have one best token, some more"
    proposal = ocd(model.decoder(rows), REWARD, batch, TIME, samples, generator(), as_sets)
    assert proposal.sets == as_sets and len(proposal.tokens) == sum(map(len, drawn))
    loss = token_losses(model.head, proposal).sum()
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(gradient(loss, model), gradient(expected, model))


def test_several_references_are_all_ways_to_the_nearest() -> None:
    both = torch.tensor([[[5, 6, EOS], [7, 8, EOS]]])
    found = best_tokens(REWARD, both, torch.tensor([[9, 7, EOS]]), 1)
    assert [set(row.tolist()) - {PAD} for row in found[0]] == [{5, 7}, {5, 6, 7, 8}, {8}]


def test_it_trains_all_weights_and_draws_what_the_policy_gradient_draws() -> None:
    model, batch = new_model(dropout=0.3)
    learner = Learner(model, Ocd(samples=2).build(lambda: REWARD, LENGTH)).train()
    losses, divisor, diagnostics = learner(batch, 0, generator())
    assert divisor == len(losses) == diagnostics.sample_tokens == diagnostics.model_tokens
    assert diagnostics.samples == diagnostics.rewarded == 8 and diagnostics.driven_tokens == 0
    losses.sum().backward()
    assert all(parameter.grad is not None and parameter.grad.isfinite().all() for parameter in model.parameters())


@pytest.mark.parametrize("reward", [RougeN(3), Sum(RougeN(3), Dup())])
def test_a_reward_without_completions_is_refused_when_it_is_built(reward) -> None:
    with pytest.raises(InputError, match="does not know how a prefix is completed best"):
        Ocd().build(lambda: reward, LENGTH)


def test_the_command_line_says_so_in_one_line(
    tiny_config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--out", str(tmp_path / "run"), "--set", "objective.kind=ocd"]
    assert main(["train", str(tiny_config), *options]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert 'does not know how a prefix is completed best; set reward.kind = "edit-distance"' in told


def test_its_name_and_settings() -> None:
    assert Ocd().label == "OCD" and replace(Ocd(), targets="set").label == "OCD + Sets"
    assert Ocd().is_rewarded and not Ocd().is_the_papers and Ocd(samples=3).sequences == 3
    with pytest.raises(InputError, match=r"objective\.samples must be at least 1"):
        Ocd(samples=0)
    with pytest.raises(InputError, match="objective: targets: 'all' is not one of"):
        configs.build({"objective": {"kind": "ocd", "targets": "all"}}, "config")
