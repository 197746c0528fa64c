"""Every language of a folder by one command, and the table of all: means, pooled tests, ensembles, what others have."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from bangbang.cli.main import main
from bangbang.errors import InputError
from bangbang.metrics import ErrorRates, compare
from bangbang.reporting import LabelledRun
from bangbang.reporting.language_table import markdown, page
from bangbang.reporting.languages import (
    Kind,
    Language,
    LanguageResults,
    LanguageScore,
    Table,
    language_results,
    mean_score,
)
from bangbang.reproduction import WorkerPool, default_methods, make_plan, published_scores, read_budget
from bangbang.reproduction.plan import Training
from bangbang.tasks import RESAMPLING, TransductionTask
from bangbang.tasks.settings import Transduction
from bangbang.training import EnsembleRun, Run
from bangbang.training.evaluation import decode_run
from tests.reproduction.test_methods import work_here

SETTINGS = ["model.units=16", "training.batch_size=32", "training.max_steps=10", "training.validate_every=10"]


@pytest.fixture(scope="module")
def results(transduction_runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> LanguageResults:
    """Two languages, which are the same one twice; the first row has two seeds, the second one of them."""
    out = tmp_path_factory.mktemp("languages")
    one, two = transduction_runs
    runs = [LabelledRun(one, "MLE"), LabelledRun(two, "MLE"), LabelledRun(two, "Other")]
    languages = [Language(name, out / name, runs) for name in ("xaa", "xbb")]
    return language_results(languages, ["greedy"], title="Words", published={"theirs": {"xaa": 5.0, "xbb": 7.0}})


def test_a_row_is_the_mean_over_seeds_and_over_languages(
    results: LanguageResults, transduction_runs: list[Path]
) -> None:
    opened = [Run.open(folder) for folder in transduction_runs]
    split = opened[0].corpus().split("test")
    done = [decode_run(each, split, each.config.decoding) for each in opened]
    wrong = [np.mean([z not in y for z, y in zip(each.outputs, each.references, strict=True)]) for each in done]
    mle, other, team = results.rows
    assert [(row.label, row.runs, row.ensemble) for row in results.rows] == [
        ("MLE", 2, False),
        ("Other", 1, False),
        ("MLE", 2, True),
    ]
    assert mle.scores["xaa"].value == mle.mean.value == mle.pooled.value == pytest.approx(100 * np.mean(wrong))
    assert other.scores["xbb"].value == pytest.approx(100 * wrong[1])
    together = EnsembleRun(opened)
    outputs = decode_run(together, split, together.config.decoding).outputs
    expected = ErrorRates().statistics(outputs, done[0].references)[:, 0].mean() * 100
    assert team.pooled.value == pytest.approx(expected) and results.languages == {"xaa": 30, "xbb": 30}


def test_rows_are_compared_with_the_baseline_on_all_words(
    results: LanguageResults, transduction_runs: list[Path]
) -> None:
    mle, other, team = results.rows
    assert mle.against is None and team.against is None and results.baseline == "MLE"
    assert other.against.value == pytest.approx(other.pooled.value - mle.pooled.value)
    assert 0 < other.against.p_randomisation <= 1


def test_pooled_tests_are_those_of_compare(transduction_runs: list[Path], tmp_path: Path) -> None:
    runs = [LabelledRun(folder, label) for folder, label in zip(transduction_runs, ("MLE", "B"), strict=True)]
    found = language_results([Language("xaa", tmp_path, runs)], ["greedy"], title="").rows[1].against
    opened = [Run.open(folder) for folder in transduction_runs]
    done = [decode_run(each, each.corpus().split("test"), each.config.decoding) for each in opened]
    expected = compare(ErrorRates(), done[1].outputs, done[0].outputs, done[0].references, RESAMPLING).scores["wer"]
    assert (found.value, found.p_randomisation) == (expected.difference.value, expected.p_randomisation)


def test_outputs_are_decoded_once(
    transduction_runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [LabelledRun(folder, "MLE") for folder in transduction_runs]
    language = Language("xaa", tmp_path, runs)
    first = language_results([language], ["greedy"], title="")
    monkeypatch.setattr("bangbang.reporting.evaluation.decode_run", None)
    assert language_results([language], ["greedy"], title="") == first
    with pytest.raises(InputError, match="--decoders beams: unknown"):
        language_results([language], ["beams"], title="")


def errors(words: int, wrong: int) -> np.ndarray:
    """What two seeds' scores are made of, of words of two phones. [2, N, 3]"""
    one = np.array([[1.0, 1, 2]] * wrong + [[0.0, 0, 2]] * (words - wrong))
    return np.stack([one, one])


def test_all_words_are_counted_once_where_no_language_is_missing() -> None:
    kinds = [Kind(label, "greedy", False) for label in ("MLE", "B", "C")]
    whole, better = ({"a": errors(10, wrong), "b": errors(30, wrong)} for wrong in (6, 2))
    found = dict(zip(kinds, (whole, better, {"a": errors(10, 1)}), strict=True))
    table = Table(TransductionTask(Transduction()), ["a", "b"], found, "MLE")
    mle, row, part = (table.row(kind, 2) for kind in kinds)
    assert (mle.pooled.value, mle.mean.value, row.pooled.value, row.mean.value) == pytest.approx((30, 40, 10, 40 / 3))
    assert row.against.value == pytest.approx(-20) and row.against.p_randomisation < 0.05
    assert part.mean is None and part.pooled is None and part.against is None


def test_the_mean_and_its_error() -> None:
    found = mean_score({"a": LanguageScore(10.0, 3.0), "b": LanguageScore(20.0, 4.0)})
    assert (found.value, found.standard_error) == (15.0, 2.5)


def test_tables_have_what_others_published(results: LanguageResults) -> None:
    assert results.published_mean("theirs") == 6.0
    lines = markdown(results).splitlines()
    assert lines[2].startswith("|  | xaa | xbb | mean | all words | over MLE |")
    assert "| theirs (published) | 5.00 | 7.00 | 6.00 |  |  |" in lines
    assert any(line.startswith("| MLE, 2 as one, greedy |") for line in lines)
    assert '<a href="xaa/report.html">xaa</a>' in page(results, ["xaa"])
    assert "60 test words; less is better" in markdown(results)


def test_published_scores_of_the_languages_that_are_there() -> None:
    assert published_scores("transduction", ["dut", "xaa"]) == {"SIGMORPHON 2021 baseline": {"dut": 14.70}}
    (six,) = published_scores("transduction", ["eng_us", "arm_e", "dut", "fre", "hun", "jpn_hira"]).values()
    assert sum(six.values()) / 6 == pytest.approx(13.19, abs=0.005)
    assert published_scores("transduction", ["xaa"]) == published_scores("headlines", ["dut"]) == {}


def planned_for_strings(*methods: str) -> list[Training]:
    budget = read_budget("transduction", "", "small")
    return list(make_plan("transduction", "small", budget, Path("out"), methods).trainings)


def test_the_rows_of_strings_are_trained_by_the_word_itself() -> None:
    likelihood, match = planned_for_strings(*default_methods("transduction"))
    assert (likelihood.method.name, match.method.name) == ("mle", "match-mle")
    assert default_methods("headlines") == ["paper"]
    assert match.config.objective.kind == "expected-match" and match.config.training.max_steps == 1_008
    assert match.config.training.validate_every == 100 and not match.config.decoding.dup
    rloo = planned_for_strings("mle", "rloo-mle")[1].config
    assert rloo.reward.kind == "exact-match" and rloo.reward.dup == 0 and rloo.training.max_steps == 360
    with pytest.raises(InputError, match="--budget paper: transduction has small"):
        read_budget("transduction", "", "paper")


def command(corpus: Path, out: Path, *more: str) -> list[str]:
    words = ["reproduce", "transduction", "--corpus", str(corpus), "--out", str(out), "--methods", "mle"]
    changes = [*SETTINGS, f"data.cache={corpus.parent / 'cache'}"]
    return [*words, *(word for setting in changes for word in ("--set", setting)), *more]


def test_all_languages_by_one_command(
    transduction_config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(WorkerPool, "work", work_here)
    corpus, out = transduction_config.parent / "words", tmp_path / "out"
    assert main(command(corpus, out, "--dry-run", "--json")) == 0
    assert set(json.loads(capsys.readouterr().out)) == {"xaa", "xbb"} and not out.exists()
    assert main(command(corpus, out, "--decoders", "greedy")) == 0
    assert re.search(r"MLE, greedy +\d", capsys.readouterr().out)
    found = json.loads((out / "languages.json").read_text())
    assert found["languages"] == {"xaa": 30, "xbb": 30} and found["score"] == "wer" and found["less_is_better"]
    for language in ("xaa", "xbb"):
        assert Run.open(out / language / "runs" / "mle-seed1").config.data.language == language
        assert (out / language / "report.html").is_file()
    assert main(command(corpus, out, "--decoders", "greedy", "--languages", "xbb", "--json")) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["rows"][0]["scores"] == {"xbb": found["rows"][0]["scores"]["xbb"]}
    assert main(command(corpus, out, "--languages", "xbb", "xcc")) == 2
    assert "no xcc_train.tsv; there are xaa, xbb" in capsys.readouterr().err
    shutil.rmtree(out)
