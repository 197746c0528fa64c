"""Decoders side by side: each way is decoded once, and validation chooses the best of a row, never the test."""

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bangbang import config as configs
from bangbang.config import Config
from bangbang.decoding.settings import DecodingSettings
from bangbang.errors import InputError
from bangbang.metrics.significance import compare_statistics
from bangbang.reporting import LabelledRun, Results, evaluate
from bangbang.reporting import evaluation as module
from bangbang.reporting.evaluation import Evaluation, default_decoders, lines_to_decode, outputs_of
from bangbang.reporting.report import results_of
from bangbang.reporting.rows import Group, best_against, best_decoder, group, sides_of
from bangbang.tasks import RESAMPLING, HeadlineTask, quick
from bangbang.tasks.settings import Headlines
from bangbang.training import Run
from bangbang.training.evaluation import decode_run

METRIC = HeadlineTask(Headlines()).metric
REFERENCES = [["quick brown fox"], ["lazy dog"], ["red hen house"], ["old cat"]]
GOOD, FAIR, POOR = (
    ["quick brown fox", "lazy dog", "red hen", "old cat"],
    ["quick", "lazy", "red", "old"],
    ["a", "b", "c", "old"],
)
Decodings = list[tuple[str, int]]


@pytest.fixture
def run(labelled_runs: list[LabelledRun], tmp_path: Path) -> LabelledRun:
    shutil.copytree(labelled_runs[0].folder, tmp_path / "run", ignore=shutil.ignore_patterns("test.json"))
    return LabelledRun(tmp_path / "run", "MLE")


@pytest.fixture
def decodings(monkeypatch: pytest.MonkeyPatch) -> Decodings:
    """The method of each call of `decode_run`, and the rows of its split."""
    calls: Decodings = []

    def counted(run: Run, split: object, way: DecodingSettings, **options: object) -> object:
        calls.append((way.method, len(split)))  # type: ignore[arg-type]
        return decode_run(run, split, way, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "decode_run", counted)
    return calls


def set_decoding(run: LabelledRun, **changes: object) -> None:
    """As `bangbang tune` does."""
    config = configs.read(run.folder / "config.toml")
    changed = replace(config, decoding=replace(config.decoding, **changes))  # type: ignore[arg-type]
    (run.folder / "config.toml").write_text(configs.dumps(changed))


def test_every_way_is_decoded_once(run: LabelledRun, decodings: Decodings) -> None:
    heard: list[int] = []
    found = evaluate(run, ("greedy", "beam"), heard.append)
    assert sorted(decodings) == [("beam", 10), ("beam", 30), ("greedy", 10), ("greedy", 30), ("greedy", 30)]
    assert sum(heard) == lines_to_decode(run, ("greedy", "beam")) == 3 * 30 + 2 * 10
    assert list(found.decoded) == ["greedy", "beam"] and found.decoded["beam"].decoding == "beam 4 +DUP"
    decodings.clear()
    again = evaluate(run, ("beam", "greedy"))
    assert decodings == [] and again.decoded["beam"].texts == found.decoded["beam"].texts
    set_decoding(run, beam_size=2, temperature=0.5)  # of which the greedy way knows nothing
    evaluate(run, ("greedy", "beam"))
    assert sorted(decodings) == [("beam", 10), ("beam", 30)]


def test_outputs_and_validation_are_those_of_the_way(run: LabelledRun) -> None:
    opened = Run.open(run.folder)
    found = evaluate(run, ("greedy", "beam")).decoded["beam"]
    beam = replace(opened.config.decoding, method="beam")
    test, valid = (decode_run(opened, opened.corpus().split(name), beam) for name in ("test", "valid"))
    assert found.texts == test.outputs and found.cut == test.cut
    assert found.validation == quick(opened.task.metric, valid.outputs, valid.references)["rouge-l"]


def test_the_runs_own_way_is_there_if_it_is_another(run: LabelledRun) -> None:
    assert default_decoders([run]) == ("greedy",)
    set_decoding(run, method="beam", beam_size=3, length_penalty=0.5, dup=False)
    assert default_decoders([run]) == ("greedy", "own")
    found = evaluate(run, default_decoders([run]))
    assert [each.decoding for each in found.decoded.values()] == ["greedy +DUP", "beam 3 length^0.5"]


def test_unknown_decoders_are_refused(run: LabelledRun) -> None:
    with pytest.raises(InputError, match="--decoders magic: unknown; choose among greedy, beam"):
        evaluate(run, ("magic",))


def group_of(label: str, ways: Mapping[str, tuple[list[str], float]]) -> Group:
    """A row of one run: by decoder, what it wrote and its validation score."""
    made = {
        name: outputs_of(METRIC, texts, METRIC.statistics(texts, REFERENCES))._replace(validation=score)
        for name, (texts, score) in ways.items()
    }
    greedy = made.pop("greedy")
    sides = (greedy, greedy, made)
    evaluation = Evaluation(LabelledRun(Path(label), label), "step-1", "corpus", ["source"] * 4, REFERENCES, *sides)
    return Group(label, [evaluation], [Config()])


def test_validation_chooses_the_best_way_of_each_row() -> None:
    mle = group_of("MLE", {"greedy": (POOR, 10.0), "beam": (FAIR, 11.0)})
    row = group_of("row", {"greedy": (GOOD, 20.0), "beam": (POOR, 30.0)})  # better on validation alone
    sides = {
        name: sides_of({each.label: [each.members[0].decoded[name]] for each in (mle, row)}, METRIC, ["MLE"])
        for name in ("greedy", "beam")
    }
    best = {label: best_decoder({name: sides[name][label] for name in sides}) for label in ("MLE", "row")}
    assert best == {"MLE": "beam", "row": "beam"}
    best["row"] = "greedy"
    found = best_against(row, [mle, row], best, METRIC, ["MLE"])["MLE"]["rouge-l"]
    ours, theirs = row.members[0].with_dup, mle.members[0].decoded["beam"]
    expected = compare_statistics(METRIC, ours.statistics, theirs.statistics, RESAMPLING).scores["rouge-l"]
    assert (found.value, found.p_randomisation) == (expected.difference.value, expected.p_randomisation)
    same = sides["greedy"]["row"].against["MLE"]["rouge-l"]
    assert (
        found.value
        < same.value
        == pytest.approx(
            np.mean([METRIC.per_example(each.statistics)[:, 2] for each in (ours,)])
            - np.mean(METRIC.per_example(mle.members[0].with_dup.statistics)[:, 2])
        )
    )
    assert best_against(mle, [mle, row], best, METRIC, ["MLE"]) == {}


def test_one_decoder_alone_is_the_best() -> None:
    row = group_of("row", {"greedy": (GOOD, 0.0)})
    sides = sides_of({"row": [row.members[0].with_dup._replace(validation=None)]}, METRIC, [])
    assert best_decoder({"greedy": sides["row"]}) == "greedy" and sides["row"].validation is None


def test_a_report_has_them_all(reported: tuple[Results, Path]) -> None:
    results = reported[0]
    assert results.decoders == ["greedy", "beam"] and results.other == "chrf" and results.scores[-1] == "rouge-l"
    for row in results.rows:
        assert list(row.decoded) == ["greedy", "beam"] and row.decoded["greedy"] == row.with_dup
        assert row.best.decoder == max(row.decoded, key=lambda name: row.decoded[name].validation or 0)
        for side in row.decoded.values():
            assert set(side.against) == set(row.best.against) == {"MLE", "RAML"} - {row.label}
            assert 0 <= side.reading.cut <= 1 and "chrf" in side.scores
    assert len(results.samples) == 20 and [results.samples[0].number, results.samples[-1].number] == [1, 30]
    assert list(results.samples[3].outputs) == [row.label for row in results.rows]
    assert "no MLE run of another seed" in results.unjudged and "chrf|nrefs:1|" in results.signature


def test_outputs_have_a_likelihood_where_there_is_a_judge(labelled_runs: list[LabelledRun], run: LabelledRun) -> None:
    """A row of seed 2 beside maximum likelihood of seed 1."""
    second = next(each for each in labelled_runs if Run.open(each.folder).config.training.seed == 2)
    task = Run.open(run.folder).task
    results = results_of(group([evaluate(each) for each in (run, second)]), task, "two", [], ["MLE"])
    assert results.row("MLE").with_dup.reading.log_likelihood is None
    assert (results.row("SPG 0.2").with_dup.reading.log_likelihood or 0) < 0
