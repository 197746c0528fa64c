"""Outputs judged by another run's model: its own log-probabilities, by another seed, and kept."""

import shutil
from pathlib import Path

import pytest
import torch

from bangbang import config as configs
from bangbang.config import Config
from bangbang.decoding.generation import collate
from bangbang.reporting import LabelledRun, evaluate
from bangbang.reporting.likelihood import Judged, judge_of, likelihoods, log_likelihood, output_tokens, unjudged
from bangbang.symbols import BOS, EOS
from bangbang.training import Run


@pytest.fixture
def runs(labelled_runs: list[LabelledRun], tmp_path: Path) -> list[LabelledRun]:
    """Copies of a run by maximum likelihood, and of one by SPG of another seed."""
    chosen = [labelled_runs[0], next(run for run in labelled_runs if Run.open(run.folder).config.training.seed == 2)]
    for place, run in enumerate(chosen):
        shutil.copytree(run.folder, tmp_path / str(place), ignore=shutil.ignore_patterns("test.json"))
    return [run._replace(folder=tmp_path / str(place)) for place, run in enumerate(chosen)]


def test_it_is_the_sum_over_steps(runs: list[LabelledRun]) -> None:
    """Whatever the batch, and with nothing for padding."""
    run = Run.open(runs[0].folder)
    model, split = run.load_model(), run.corpus().split("test")
    inputs = run.task.inputs(split, slice(0, 5), run.encode_sources)
    texts = ["small clock", "", "modern clock for the terminal", "for", "the the"]
    outputs = output_tokens(run, texts, [False, False, False, True, False])
    assert [tokens[-1] == EOS for tokens in outputs] == [True, True, True, False, True]
    expected = 0.0
    for line, tokens in enumerate(outputs):
        state = model.encode(*collate(inputs, [line]))
        for fed, token in zip([BOS, *tokens], tokens, strict=False):
            state, features = model.step(state, torch.tensor([fed]))
            expected += float(model.head.logits(features).log_softmax(1)[0, token].detach())
    found = log_likelihood(model, inputs, outputs)
    assert found.tokens == sum(map(len, outputs)) == 2 + 5 + 1 + 2 + 4
    assert found.log_prob == pytest.approx(expected, rel=1e-5)


def test_a_run_is_judged_by_maximum_likelihood_of_another_seed(runs: list[LabelledRun]) -> None:
    evaluation = evaluate(runs[0])

    def judged(*settings: str) -> Judged:
        return Judged(evaluation, configs.override(Config(), list(settings)))

    own, other = judged(), judged("training.seed=2")
    late, spg = judged("training.seed=3"), judged("training.seed=3", "objective.kind=bbspg")
    warm = judged("training.seed=4", "training.init=there")
    assert judge_of(own, [own, warm, spg, other, late]) is other
    assert judge_of(other, [warm, other, late]) is late
    assert judge_of(spg, [spg, late]) is None  # the same seed
    assert "no MLE run of another seed" in unjudged([own, spg], {}) and unjudged([own], {Path("run"): 0}) == ""


def test_what_was_judged_is_kept(runs: list[LabelledRun], monkeypatch: pytest.MonkeyPatch) -> None:
    judged = [Judged(evaluate(run, ("greedy", "beam")), Run.open(run.folder).config) for run in runs]
    found = likelihoods(judged)
    assert list(found) == [runs[1].folder]  # nobody judges maximum likelihood: there is one seed of it
    spg = found[runs[1].folder]
    assert list(spg) == ["greedy", "beam"] and all(each.log_prob < 0 < each.tokens for each in spg.values())
    monkeypatch.setattr(Run, "load_model", None)
    assert likelihoods(judged) == found
    again = evaluate(runs[1], ("greedy", "beam"))
    assert likelihoods([judged[0], judged[1]._replace(evaluation=again)]) == found
