"""`bangbang report`: rows find their names, numbers and page come out, bad calls get one line."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from bangbang import config as configs
from bangbang.cli.main import main
from bangbang.config import Config
from bangbang.objectives.settings import BangBang, Pg, Raml, Spg
from bangbang.reporting.rows import label_runs
from bangbang.rewards.settings import RougeNSettings
from bangbang.training.settings import TrainingSettings


def labels_of(folder: Path, kinds: list[Config], vocabulary: Path) -> list[str]:
    """The labels of runs that have these configs."""
    folders = [folder / str(number) for number in range(len(kinds))]
    for place, config in zip(folders, kinds, strict=True):
        place.mkdir()
        (place / "config.toml").write_text(configs.dumps(config))
        shutil.copy(vocabulary, place / "vocabulary.json")
    return [run.label for run in label_runs(folders)]


def test_labels_are_the_papers(tmp_path: Path, tiny_run: Path) -> None:
    (tmp_path / "start").mkdir()
    (tmp_path / "start" / "config.toml").write_text(configs.dumps(Config()))
    spg = Config(objective=BangBang(p_drop=0.4))
    kinds = [
        Config(),
        Config(objective=Raml()),
        Config(objective=Pg()),
        Config(objective=Pg(), training=TrainingSettings(init=str(tmp_path / "start"))),
        Config(objective=Pg(), training=TrainingSettings(init="gone/away")),
        Config(objective=Spg(reward_weight=3)),
        spg,
        replace(spg, training=TrainingSettings(seed=2)),
        replace(spg, reward=RougeNSettings(length=1.0)),
        replace(spg, reward=RougeNSettings(max_n=2)),
        Config(objective=BangBang(p_drop=0.25)),
    ]
    assert labels_of(tmp_path, kinds, tiny_run / "vocabulary.json") == [
        *("MLE", "RAML", "PG", "PG from MLE", "PG from away", "SPG W=3"),
        *("SPG 0.4", "SPG 0.4", "SPG 0.4 + Length", "SPG 0.4, reward.max_n=2", "SPG 0.25"),
    ]


def test_a_report_on_one_run(tiny_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tiny_run), "--out", str(tmp_path / "a")]) == 0
    text = capsys.readouterr().out
    assert "MLE" in text and str(tmp_path / "a" / "report.html") in text.replace("\n", "")
    command = ["report", str(tiny_run), "--label", "mine & 'yours'", "--out", str(tmp_path / "b"), "--json"]
    assert main(command) == 0
    record = json.loads(capsys.readouterr().out)
    assert record == json.loads((tmp_path / "b" / "results.json").read_text())
    assert [row["label"] for row in record["rows"]] == ["mine & 'yours'"]
    assert record["commands"][0] == f"bangbang train {tiny_run}/config.toml --out {tiny_run}"


def test_decoders_side_by_side(tiny_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["report", str(tiny_run), "--decoders", "greedy", "beam", "--out", str(tmp_path)]
    assert main([*command, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    main(["evaluate", str(tiny_run), "--side-by-side", "--json"])
    evaluated = json.loads(capsys.readouterr().out)["scores"]
    for side in record["rows"][0]["decoded"].values():
        assert side["scores"]["rouge-l"]["value"] == pytest.approx(evaluated[side["decoding"]]["rouge-l"]["value"])
    assert record["answer"][0].startswith("MLE reaches ")
    assert "--decoders greedy beam" in record["commands"][-1]
    assert main(command) == 0
    text = capsys.readouterr().out
    assert text.startswith("MLE reaches ") and "beam 4 +DUP" in text


def test_a_report_on_captions(shapes_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(shapes_run), "--out", str(tmp_path), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["task"], record["main"]) == ("captions", "cider-d")
    assert record["scores"] == ["cider-d", "coco-rouge-l", "bleu-4", "rouge-l"]
    main(["evaluate", str(shapes_run), "--json"])
    evaluated = json.loads(capsys.readouterr().out)["scores"]["greedy +DUP"]
    assert record["other"] == "chrf"
    for name, score in record["rows"][0]["with_dup"]["scores"].items():
        if name == "chrf":
            continue
        assert score["value"] == pytest.approx(evaluated[name]["value"])
        assert score["standard_error"] == pytest.approx(evaluated[name]["standard_error"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["nowhere"], "not a run"),
        (["{run}", "--label", "a", "b"], "--label names 2 rows, but there are 1 runs"),
        (["{run}", "{run}"], "with seed 1"),
        (["{run}", "--decoders", "magic"], "--decoders magic: unknown"),
        (["{run}", "--out", "{run}/config.toml"], "cannot be written"),
    ],
)
def test_refusals(tiny_run: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", *(option.format(run=tiny_run) for option in options)]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
