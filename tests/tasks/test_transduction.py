"""Transduction: its scores, its baseline, a run from letters to phones, and the verbs that judge it."""

import json
from pathlib import Path

import pytest

from bangbang.cli.main import main
from bangbang.tasks import TransductionTask, quick
from bangbang.tasks.settings import Transduction
from bangbang.training import Run

PHONES, LETTERS = TransductionTask(Transduction()), TransductionTask(Transduction(symbols="characters"))


def test_scores_and_their_main_one() -> None:
    assert quick(PHONES.metric, ["a b", "a"], [["a b"], ["a b"]]) == {"wer": 50, "per": 25}
    assert quick(LETTERS.metric, ["ab", "a"], [["ab"], ["ab"]]) == {"wer": 50, "cer": 25}
    assert PHONES.main == LETTERS.main == Transduction.chosen_by == "wer"


def test_the_baseline_copies_the_source() -> None:
    assert PHONES.baselines(None, ["ab\tV"]) == {"copy of the source": ["a b"]}
    assert LETTERS.baselines(None, ["ab\tV"]) == {"copy of the source": ["ab"]}


def test_a_run_learns_phones_and_is_judged_by_wer(
    transduction_runs: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    opened = Run.open(transduction_runs[0])
    assert opened.config.metric == "wer" and opened.source_vocabulary is not None
    assert main(["evaluate", str(opened.folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (ours, copied) = (found["scores"][name]["wer"]["value"] for name in ("greedy", "copy of the source"))
    assert ours < 60 < copied
    assert found["unknown"] == {"tokens": 0, "examples": 0}


def test_the_best_checkpoint_has_the_lowest_wer(transduction_runs: list[Path]) -> None:
    lines = map(json.loads, (transduction_runs[0] / "metrics.jsonl").read_text().splitlines())
    scores = {line["step"]: line["wer"] for line in lines if line["kind"] == "valid"}
    best = int(Run.open(transduction_runs[0]).checkpoint("best").name.rpartition("-")[2])
    assert scores[best] == min(scores.values()) < max(scores.values())


def test_outputs_by_minimum_bayes_risk(transduction_runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    for utility in ("wer", "per", "exact-match", "edit-distance"):
        words = ["evaluate", str(transduction_runs[0]), "--mbr", "8", "--utility", utility, "--json", "--limit", "10"]
        assert main(words) == 0
        assert json.loads(capsys.readouterr().out)["scores"][f"mbr 8 {utility} T=0.6"]["wer"]["value"] <= 70


def test_score_and_compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in {"a": "x y\nx\n", "b": "x\nx\n", "y": "x y\nx\n"}.items():
        (tmp_path / name).write_text(text)
    a, b, y = (str(tmp_path / name) for name in ("a", "b", "y"))
    assert main(["score", "--metric", "wer", b, y, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["scores"]["wer"]["value"] == 50
    assert main(["compare", "--metric", "wer", a, b, "--references", y, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["scores"]["wer"]["difference"]["value"] == -50 and found["moved_by"] == "wer"


def test_characters_that_training_has_not_seen_are_counted(transduction_runs: list[Path]) -> None:
    assert Run.open(transduction_runs[0]).unknown_in(["ka", "kß", "ßß"]) == (3, 2)


def test_lines_are_read_in_the_normal_form_of_the_corpus(transduction_runs: list[Path]) -> None:
    opened = Run.open(transduction_runs[0])
    assert opened.config.data.as_read(" e\N{COMBINING ACUTE ACCENT} ") == "é"
    assert opened.encode_sources(["ka"]) == opened.encode_sources([" ka "])
