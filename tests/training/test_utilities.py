"""The utilities of minimum Bayes risk, by name, against the metrics' own scores of each pair."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from bangbang import config as configs
from bangbang import registry
from bangbang.decoding import Contest, Utility
from bangbang.decoding.settings import DecodingSettings
from bangbang.errors import InputError
from bangbang.metrics import CocoCaption, Rouge, SacreBleu
from bangbang.metrics.metric import Metric
from bangbang.symbols import EOS
from bangbang.training import Run
from bangbang.training.evaluation import decode_run
from bangbang.training.utilities import run_utility, settled

CPU = torch.device("cpu")
MBR = DecodingSettings(method="mbr", mbr_samples=6)
TEXTS = ["small clock for the phone", "fast clock for the phone", "clock", "the the small phone for clock", ""]


def matrix(utility: Utility | None, run: Run, texts: Sequence[str]) -> torch.Tensor:
    ids = run.vocabulary.encode_batch(list(texts))
    assert utility is not None
    [found] = utility.matrices([Contest(ids, [each for each in ids if each])], CPU)
    return found


@pytest.mark.parametrize(
    ("name", "metric", "score", "factor"),
    [
        ("rouge-2", Rouge(), "rouge-2.f1", 100.0),  # the task's own is in percent
        ("rouge-3", Rouge(), "rouge-3.f1", 1.0),
        ("rouge-1.recall", Rouge(), "rouge-1.recall", 1.0),
        ("bleu-4", CocoCaption(), "bleu-4", 1.0),
        ("chrf", SacreBleu("chrf"), "chrf", 1.0),
        ("ter", SacreBleu("ter"), "ter", -1.0),
    ],
)
def test_a_metrics_score_is_that_of_each_pair(
    tiny_run: Path, name: str, metric: Metric, score: str, factor: float
) -> None:
    run = Run.open(tiny_run)
    found = matrix(run_utility(run, replace(MBR, utility=name)), run, [*TEXTS, TEXTS[0]])
    for row, z in zip(found.tolist(), [*TEXTS, TEXTS[0]], strict=True):
        literal = [
            float(metric.per_example(metric.statistics([z], [[y]]))[0, metric.names.index(score)])
            for y in [*TEXTS[:4], TEXTS[0]]
        ]
        assert row == pytest.approx([factor * each for each in literal])


@pytest.mark.parametrize("name", list(registry.built_in("rewards")))
def test_every_built_in_reward_is_a_utility(tiny_run: Path, name: str) -> None:
    run = Run.open(tiny_run)
    decoding = replace(MBR, utility=name)
    found = matrix(run_utility(run, decoding), run, TEXTS)
    assert found.shape == (5, 4) and found.isfinite().all()
    assert torch.equal(found[:4].argmax(0), torch.arange(4))  # nothing is as like a text as itself
    assert len(decode_run(run, run.corpus().split("valid"), decoding, limit=3).outputs) == 3


def test_a_reward_is_as_the_run_is_trained_by_it(tiny_run: Path) -> None:
    run = Run.open(tiny_run)
    text, other = TEXTS[0], "small phone"
    unigrams = configs.override(run.config, ["reward.kind=rouge-n", "reward.max_n=1"])
    trained = Run(run.folder, unigrams, run.vocabulary)
    decoding = replace(MBR, utility="rouge-n")
    assert matrix(run_utility(trained, decoding), run, [text, other])[1, 0] == pytest.approx(2 * 3 / 9)
    assert matrix(run_utility(run, decoding), run, [text, other])[1, 0] < 0.5  # trigrams count too


def test_cider_d_counts_the_training_references(shapes_run: Path) -> None:
    run = Run.open(shapes_run)
    assert settled(run, MBR).utility == "cider-d"
    utility = run_utility(run, MBR)
    train = run.corpus().split("train")
    reference = train.references(slice(0, 1))[0][0]
    found = matrix(utility, run, [reference])
    assert found.tolist() == [[pytest.approx(10.0)]] and EOS not in run.vocabulary.encode(reference)
    assert len(decode_run(run, run.corpus().split("valid"), MBR, limit=4).outputs) == 4


def test_the_default_is_the_tasks_main_score(tiny_run: Path) -> None:
    run = Run.open(tiny_run)
    assert settled(run, MBR) == replace(MBR, utility="rouge-l")
    assert settled(run, replace(MBR, utility="bleu")) == replace(MBR, utility="bleu")
    assert settled(run, DecodingSettings()) == DecodingSettings()
    assert run_utility(run, DecodingSettings()) is None
    split = run.corpus().split("valid")
    assert decode_run(run, split, MBR, limit=3) == decode_run(run, split, replace(MBR, utility="rouge-l"), limit=3)


@pytest.mark.parametrize(("name", "message"), [("nothing", "'nothing' is no reward"), ("cider", "has no increments")])
def test_what_is_no_utility_is_told(tiny_run: Path, name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        run_utility(Run.open(tiny_run), replace(MBR, utility=name))
