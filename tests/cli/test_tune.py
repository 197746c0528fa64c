"""`bangbang tune`: the best way of decoding on validation rows becomes the run's; training does not notice."""

import json
import shutil
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bangbang import config as configs
from bangbang.cli.main import main
from bangbang.decoding.settings import DecodingSettings
from bangbang.locks import locked
from bangbang.tasks import quick
from bangbang.training import Run
from bangbang.training.evaluation import decode_run
from bangbang.training.tuning import Trial, chosen

SMALL = ["--beams", "1", "3", "--length-penalties", "0.5", "1", "--mbr", "3", "6", "--temperatures", "0.5", "1.5"]


@pytest.fixture
def own_run(tiny_run: Path, tmp_path: Path) -> Path:
    return shutil.copytree(tiny_run, tmp_path / "run", ignore=shutil.ignore_patterns("test.json"))


def tuned(run: Path, *options: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["tune", str(run), *SMALL, "--json", *options]) == 0
    record: dict[str, Any] = json.loads(capsys.readouterr().out)
    return record


def test_each_way_has_the_scores_of_its_own_outputs(own_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = tuned(own_run, "--limit", "8", "--seed", "3", "--metric", "rouge-2", capsys=capsys)
    run = Run.open(own_run)
    split = run.corpus().split("valid")
    assert len(record["tried"]) == 1 + 2 + 4 and record["examples"] == 8
    for trial in record["tried"]:
        decoded = decode_run(run, split, DecodingSettings(**trial["decoding"]), limit=8, seed=3)
        assert trial["scores"] == pytest.approx(quick(run.task.metric, decoded.outputs, decoded.references))
    scores = [trial["scores"]["rouge-2"] for trial in record["tried"]]
    assert scores == sorted(scores, reverse=True) and record["chosen"] == record["tried"][0]["name"]


def test_of_some_scores_the_lowest_is_best(own_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = configs.override(Run.open(own_run).config, ['task.metrics=["ter"]'])
    (own_run / "config.toml").write_text(configs.dumps(config))
    record = tuned(own_run, "--metric", "ter", "--utility", "ter", "--temperatures", "3", capsys=capsys)
    scores = [trial["scores"]["ter"] for trial in record["tried"]]
    assert scores == sorted(scores) and scores[0] < scores[-1]


def test_the_best_becomes_the_runs_own(own_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (own_run / "config.toml").read_text()
    record = tuned(own_run, "--beams", "--temperatures", "0.5", capsys=capsys)
    after = tomllib.loads((own_run / "config.toml").read_text())
    assert after.pop("decoding") == record["decoding"] and record["decoding"]["method"] == "mbr"
    assert record["decoding"]["utility"] == "rouge-l" and record["decoding"]["temperature"] == 0.5
    rest = tomllib.loads(before)
    assert rest.pop("decoding") == configs.plain_table(DecodingSettings()) and after == rest
    kept = json.loads((own_run / "tuned.json").read_text())
    assert kept == {"format": 1, **record} and kept["split"] == "valid" and kept["checkpoint"].startswith("step-")
    name = record["chosen"]
    assert main(["evaluate", str(own_run), "--json", "--limit", "3"]) == 0
    assert list(json.loads(capsys.readouterr().out)["decoding"]) == [name]
    assert main(["explain", str(own_run), "--json"]) == 0


def test_a_dry_run_writes_nothing(own_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_bytes() for path in own_run.rglob("*") if path.is_file()}
    record = tuned(own_run, "--dry-run", "--limit", "4", capsys=capsys)
    assert not record["written"]
    assert before == {path: path.read_bytes() for path in own_run.rglob("*") if path.is_file()}


def test_the_table_names_what_was_tried(own_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", str(own_run), "--beams", "1", "2", "--length-penalties", "1", "--mbr", "--limit", "4"]) == 0
    text = " ".join(capsys.readouterr().out.split())  # a long path breaks the title
    assert "greedy +DUP" in text and "beam 2 +DUP" in text and "mbr" not in text and "best rouge-l first" in text
    assert f"written into {own_run}" in text


def test_each_family_keeps_its_best_settings() -> None:
    base = DecodingSettings()
    beam = replace(base, method="beam", beam_size=8, length_penalty=0.6)
    risk = replace(base, method="mbr", mbr_samples=16, temperature=0.4, utility="bleu")
    ways = [beam, replace(beam, beam_size=2), risk, replace(risk, temperature=1.0), base]
    found = chosen([Trial(way, {}) for way in ways], base)
    assert found == replace(beam, mbr_samples=16, temperature=0.4, utility="bleu")
    assert chosen([Trial(base, {}), Trial(risk, {})], base) == replace(risk, method="greedy")


def weights_and_scores(run: Path) -> tuple[dict[str, str], list[dict[str, Any]]]:
    newest = max((run / "checkpoints").glob("step-*"))
    records = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    validations = [{**record, "seconds": 0, "time": 0} for record in records if record["kind"] == "valid"]
    return json.loads((newest / "state.json").read_text())["sha256"], validations


@pytest.mark.parametrize("by_file", [False, True])
def test_a_training_goes_on_as_if_it_were_not_tuned(
    own_run: Path, tiny_config: Path, tmp_path: Path, by_file: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = shutil.copytree(own_run, tmp_path / "plain")
    tuned(own_run, "--beams", "--limit", "4", capsys=capsys)
    decoding = Run.open(own_run).config.decoding
    for steps in ("61", "62"):  # twice: a resumed run saves what it validates by, too
        for run in (plain, own_run):
            config = [str(tiny_config)] if by_file else []
            assert main(["train", *config, "--resume", "--out", str(run), "--set", f"training.max_steps={steps}"]) == 0
    assert weights_and_scores(own_run) == weights_and_scores(plain)
    assert Run.open(own_run).config.decoding == decoding and decoding.method == "mbr"
    told = ["train", str(tiny_config), "--resume", "--out", str(own_run), "--set", "decoding.beam_size=7"]
    capsys.readouterr()
    assert main([*told, "--set", "training.max_steps=62"]) == 2
    assert "decoding.beam_size" in capsys.readouterr().err


def test_a_run_that_validates_by_minimum_bayes_risk(
    tiny_config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = ["decoding.method=mbr", "decoding.mbr_samples=3", "training.max_steps=2", "training.validate_every=1"]
    words = [word for setting in settings for word in ("--set", setting)]
    assert main(["train", str(tiny_config), "--out", str(tmp_path / "run"), *words]) == 0
    assert len(weights_and_scores(tmp_path / "run")[1]) == 2
    unknown = ["--set", "decoding.method=mbr", "--set", "decoding.utility=none"]
    assert main(["train", str(tiny_config), "--out", str(tmp_path / "other"), *unknown]) == 2
    assert "decoding.utility = 'none' is no reward" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--beams", "--mbr"], "nothing to try"),
        (["--beams", "0"], "decoding.beam_size must be at least 1"),
        (["--temperatures", "0"], "decoding.temperature must be"),
        (["--metric", "bleurt"], "--metric bleurt: is no score of this task; choose one of rouge-1, rouge-2, rouge-l"),
        (["--utility", "none"], "decoding.utility = 'none' is no reward"),
        (["--checkpoint", "none"], "no checkpoint 'none'"),
    ],
)
def test_bad_options_are_one_line_and_change_nothing(
    own_run: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (own_run / "config.toml").read_text()
    assert main(["tune", str(own_run), *options]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert (own_run / "config.toml").read_text() == before and not (own_run / "tuned.json").exists()


def test_a_run_in_use_is_left_alone(own_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with locked(own_run):
        assert main(["tune", str(own_run), *SMALL]) == 2
    assert "in use by" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["config.toml", "tuned.json"])
def test_links_are_refused(own_run: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    outside = tmp_path / "outside"
    outside.write_text((own_run / "config.toml").read_text())
    (own_run / name).unlink(missing_ok=True)
    (own_run / name).symlink_to(outside)
    before = outside.read_text()
    assert main(["tune", str(own_run), *SMALL]) == 2
    assert "is a symbolic link" in capsys.readouterr().err and outside.read_text() == before
