"""Rows: means over seeds, their spread, paired tests on all seeds' outputs; what cannot be compared is refused."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from bangbang import config as configs
from bangbang.errors import InputError
from bangbang.metrics import Rouge, compare
from bangbang.reporting import LabelledRun, Results, evaluate, report, table
from bangbang.reporting.evaluation import Outputs, outputs_of
from bangbang.reporting.rows import check_comparable, side_of, statistics_of
from bangbang.reporting.terminal import difference as difference_cell
from bangbang.tasks import RESAMPLING, CaptionTask, HeadlineTask
from bangbang.tasks.settings import Captions, Headlines

Reported = tuple[Results, Path]


def test_a_row_is_the_mean_over_its_seeds(labelled_runs: list[LabelledRun], reported: Reported) -> None:
    row = reported[0].row("SPG 0.2")
    members = [evaluate(run) for run in labelled_runs if run.label == "SPG 0.2"]
    assert row.seeds == [1, 2]
    for name, score in row.with_dup.scores.items():
        values = [member.with_dup.scores[name].value for member in members]
        assert score.value == pytest.approx(np.mean(values))
        assert score.spread == pytest.approx(np.std(values, ddof=1))
        assert [run.scores[name] for run in row.runs] == values
    examples = np.mean([member.with_dup.statistics for member in members], axis=0)[:, 2]
    generator = np.random.default_rng(7)
    drawn = [generator.choice(examples, len(examples)).mean() for _ in range(2000)]
    assert row.with_dup.scores["rouge-l"].standard_error == pytest.approx(np.std(drawn), rel=0.15)


def test_one_seed_has_no_spread(reported: Reported) -> None:
    assert reported[0].row("RAML").with_dup.scores["rouge-l"].spread is None


def test_differences_are_those_of_compare(labelled_runs: list[LabelledRun], reported: Reported) -> None:
    """With one seed each, the paired test is `bangbang compare`'s."""
    ours, theirs = (evaluate(next(run for run in labelled_runs if run.label == label)) for label in ("SPG 0.6", "RAML"))
    texts = ours.with_dup.texts, theirs.with_dup.texts
    found = reported[0].row("SPG 0.6").with_dup.against["RAML"]
    for name, expected in compare(
        Rouge(metrics=("rouge-1", "rouge-2", "rouge-l")), *texts, ours.references, RESAMPLING
    ).scores.items():
        if name.endswith(".f1"):
            difference = found[name.removesuffix(".f1")]
            bars = difference.value, difference.standard_error, difference.low, difference.high
            assert bars == pytest.approx([100 * (part or 0) for part in expected.difference])
            assert difference.p_bootstrap == expected.p_bootstrap
            assert difference.p_randomisation == expected.p_randomisation


def test_the_test_is_paired_and_sees_the_mean_over_seeds() -> None:
    """Examples differ much, a row and its baseline by half a point in every one, once seeds are averaged."""
    generator, metric = np.random.default_rng(3), HeadlineTask(Headlines()).metric
    size = metric.statistics(["a"], [["a"]]).shape[1]
    level, noise = generator.uniform(0, 1, (60, size)), generator.normal(0, 0.05, (60, size))
    seeds = [level + 0.005 + noise, level + 0.005 - noise]
    outputs = [outputs_of(metric, ["a b"] * 60, statistics) for statistics in seeds]
    side = side_of("row", outputs, {"row": statistics_of(outputs), "MLE": level[None]}, metric, ["MLE", "RAML"])
    assert list(side.against) == ["MLE"]
    for name, difference in side.against["MLE"].items():
        assert difference.value == pytest.approx(0.5) and difference.standard_error < 1e-9
        assert difference.p_randomisation < 0.002 and difference.p_bootstrap < 0.002
        assert side.scores[name].standard_error > 2


def test_a_difference_is_that_of_the_scores_shown() -> None:
    """Of BLEU too, which is no mean over examples; its error bars are those of the scores shown, resampled."""
    generator, metric = np.random.default_rng(5), CaptionTask(Captions()).metric
    references = [[f"a dog runs over the green field number {number}"] for number in range(12)]

    def row(seeds: int, share: float) -> list[Outputs]:
        """Outputs with a share of their reference's words; a later seed has fewer."""
        outputs = []
        for seed in range(seeds):
            lines = [text.split() for (text,) in references]
            texts = [
                " ".join(word if generator.random() < share - seed / 5 else "tree" for word in line) for line in lines
            ]
            outputs.append(outputs_of(metric, texts, metric.statistics(texts, references)))
        return outputs

    found = {"row": row(3, 1.0), "MLE": row(2, 0.9)}
    statistics = {label: statistics_of(outputs) for label, outputs in found.items()}
    ours, theirs = (side_of(label, found[label], statistics, metric, ["MLE"]) for label in ("row", "MLE"))
    for name, difference in ours.against["MLE"].items():
        values = {label: [each.scores[name].value for each in outputs] for label, outputs in found.items()}
        assert ours.scores[name].value == pytest.approx(np.mean(values["row"]))
        assert difference.value == ours.scores[name].value - theirs.scores[name].value
        assert difference.low <= difference.value <= difference.high


def test_what_is_compared_with_what(reported: Reported) -> None:
    results = reported[0]
    assert results.baselines == ["MLE", "RAML"]
    for row in results.rows:
        assert list(row.with_dup.against) == [label for label in ("MLE", "RAML") if label != row.label]
    there = results.row("RAML").with_dup.against["MLE"]["rouge-l"]
    back = results.row("MLE").with_dup.against["RAML"]["rouge-l"]
    assert there.value == pytest.approx(-back.value) and there.p_randomisation == back.p_randomisation


def test_results_json_holds_all(reported: Reported) -> None:
    results, out = reported
    record = json.loads((out / "results.json").read_text())
    assert record == json.loads(results.json())
    assert set(record["versions"]) == {"bangbang", "torch", "python"}
    assert record["corpus"]["fingerprint"] and record["signature"].startswith("rouge|as:1.5.5")
    assert [row["label"] for row in record["rows"] if row["extension"]] == ["SPG 0.2 + Length"]
    run = record["rows"][0]["runs"][0]
    assert run["best_score"] == max(point["scores"]["rouge-l"] for point in run["validations"])
    assert run["checkpoint"] == f"step-{run['best_step']:08d}" and run["examples_per_second"] > 0


@pytest.mark.parametrize("width", [80, 130])
def test_the_table_fits_its_terminal(reported: Reported, width: int) -> None:
    console = Console(width=width, record=True, file=None, quiet=False)
    with console.capture() as captured:
        console.print(table(reported[0]))
    lines = captured.get().splitlines()
    assert max(map(len, lines)) <= width
    assert "…" not in captured.get()
    assert sum(line.startswith(" SPG 0.6 ") for line in lines) == 4  # the tables
    assert sum(line.startswith("SPG 0.6  ") for line in lines) == 3  # examples
    assert lines[0].startswith(reported[0].answer[0][:20])


def test_the_table_gives_p_at_its_floor_as_a_bound(reported: Reported) -> None:
    row = reported[0].row("SPG 0.6")
    found = row.with_dup.against["MLE"]["rouge-l"]
    against = {"MLE": {"rouge-l": replace(found, value=-1.5, p_randomisation=1 / 1001)}}
    row = replace(row, with_dup=replace(row.with_dup, against=against))
    assert difference_cell(reported[0], row, "MLE") == "-1.50 p≤0.001"


def test_without_baselines_the_first_row_is_one(labelled_runs: list[LabelledRun], tmp_path: Path) -> None:
    spg = [run for run in labelled_runs if run.label.startswith("SPG")]
    results = report(spg, tmp_path, title="spg", commands=[])
    assert results.baselines == ["SPG 0.2"] and "SPG 0.2" in results.row("SPG 0.6").with_dup.against


@pytest.fixture
def other(labelled_runs: list[LabelledRun], tmp_path: Path) -> LabelledRun:
    shutil.copytree(labelled_runs[1].folder, tmp_path / "other")
    return LabelledRun(tmp_path / "other", "other")


def test_runs_on_other_corpora_are_refused(labelled_runs: list[LabelledRun], other: LabelledRun) -> None:
    facts = json.loads((other.folder / "corpus.json").read_text())
    (other.folder / "corpus.json").write_text(json.dumps({**facts, "fingerprint": "another"}))
    with pytest.raises(InputError, match="different corpora"):
        check_comparable([labelled_runs[0], other])


def test_runs_on_images_and_texts_are_refused(labelled_runs: list[LabelledRun], other: LabelledRun) -> None:
    config = configs.read(other.folder / "config.toml", ["model.kind=show_and_tell", "model.layers=1"])
    (other.folder / "config.toml").write_text(configs.dumps(config))
    with pytest.raises(InputError, match="different tasks, headlines and captions"):
        check_comparable([labelled_runs[0], other])


def test_a_seed_counts_once(labelled_runs: list[LabelledRun]) -> None:
    with pytest.raises(InputError, match="both are 'MLE' with seed 1"):
        check_comparable([labelled_runs[0], labelled_runs[0]])
    with pytest.raises(InputError, match="at least one run"):
        check_comparable([])
