"""`bangbang explain`: what it prints, what it writes, what it refuses."""

import json
from pathlib import Path

import pytest

from bangbang.cli.main import main
from tests.conftest import sentence

SOURCE, REFERENCE = sentence(401)


def explain(run: Path, *options: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["explain", str(run), *options]) == 0
    return capsys.readouterr().out


def test_json_of_a_trace(tiny_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = [SOURCE, "--reference", REFERENCE, "--p-drop", "0.5", "--seed", "4", "--json"]
    record = json.loads(explain(tiny_run, *options, capsys=capsys))
    assert list(record) == [
        *("run", "checkpoint", "reward", "seed", "source", "reference", "references", "output", "settings", "target"),
    ]
    assert (record["source"], record["reference"], record["seed"]) == (SOURCE, REFERENCE, 4)
    assert record["settings"]["p_drop"] == 0.5 and record["settings"]["reward_weight"] == "inf"
    assert record["reward"] == ["RougeN", "Dup", "Eos"]
    assert set(record["target"]) == {"steps", "text", "reward", "reference_reward", "loss_weight", "log_p", "loss"}
    step = record["target"]["steps"][0]
    expected = {"token", "id", "chosen_by", "in_loss", "tied", "delta_r", "probability", "reference", "candidates"}
    assert expected <= set(step)
    assert set(step["candidates"][0]) == {
        *("token", "id", "delta_r", "parts", "probability", "proposal", "best", "chosen"),
    }
    assert json.loads(explain(tiny_run, *options, capsys=capsys)) == record
    other = json.loads(explain(tiny_run, *options[:-2], "5", "--json", capsys=capsys))
    assert other["target"] != record["target"]


def test_json_of_targets(tiny_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = json.loads(explain(tiny_run, "--targets", "--samples", "7", "--weight", "5", "--json", capsys=capsys))
    assert [method["name"] for method in record["methods"]] == ["mle", "raml", "bbspg", "spg", "pg"]
    assert all(sum(target["times"] for target in method["targets"]) == 7 for method in record["methods"])
    assert "W = 5" in record["methods"][3]["about"]
    assert set(record["methods"][0]["targets"][0]) == {"text", "times", "reward", "log_p", "ended"}


@pytest.mark.parametrize("columns", ["80", "140"])
def test_tables(tiny_run: Path, columns: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", columns)
        text = explain(tiny_run, SOURCE, "--reference", REFERENCE, "--p-drop", "0", capsys=capsys)
        assert text.count("reward  ") == len(REFERENCE.split()) + 1 and "R(z|y) 1.000" in text
        assert max(map(len, text.splitlines())) <= int(columns)
        text = explain(tiny_run, "--example", "2", "--targets", "--samples", "5", capsys=capsys)
        assert "bang-bang SPG" in text and "  5 × " in text
        assert max(map(len, text.splitlines())) <= int(columns)


def test_files(tiny_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    explain(tiny_run, "--html", str(tmp_path / "one.html"), capsys=capsys)
    files = ["--html", str(tmp_path / "two.html"), "--plot", str(tmp_path / "plot.png")]
    explain(tiny_run, "--targets", "--samples", "5", *files, capsys=capsys)
    for name in ("one.html", "two.html"):
        assert (tmp_path / name).read_text("utf-8").startswith("<!doctype html>")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "two.html").read_text("utf-8")


def test_an_empty_source_works(tiny_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = json.loads(explain(tiny_run, "", "--reference", REFERENCE, "--json", capsys=capsys))
    assert record["source"] == "" and record["target"]["steps"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([SOURCE], "SOURCE and --reference belong together"),
        (["--reference", REFERENCE], "SOURCE and --reference belong together"),
        ([SOURCE, "--reference", REFERENCE, "--example", "2"], "--example is for when no SOURCE is given"),
        ([SOURCE, "--reference", "qwrtz pxyz"], "the run's vocabulary has none of its words"),
        ([SOURCE, "--reference", " "], "it is empty"),
        (["--example", "0"], "examples 1 to 20"),
        (["--example", "21"], "examples 1 to 20"),
        (["--p-drop", "1.5"], "objective.p_drop must be between 0 and 1"),
        (["--targets", "--weight", "inf"], "objective.reward_weight must be at least 0 and finite"),
        (["--targets", "--samples", "0"], "--samples: must be at least 1"),
        (["--plot", "x.png"], "add --targets"),
        (["--targets", "--plot", "x.gif"], "must end in .png"),
        (["--checkpoint", "9"], "no checkpoint '9'"),
        (["--html", "nowhere/at/all.html"], "cannot be written"),
    ],
)
def test_refusals(tiny_run: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(tiny_run), *options]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
