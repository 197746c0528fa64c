"""Several runs as one on the command line, and runs that cannot be one."""

import io
import json
import sys
from pathlib import Path

import pytest

from bangbang.cli.main import main
from bangbang.training import EnsembleRun, Run
from bangbang.training.evaluation import decode_run


def generated(words: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        assert main(["generate", *words]) == 0
    return capsys.readouterr().out.splitlines()


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(words) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    return line


def test_generate_and_evaluate(transduction_runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    runs = list(map(str, transduction_runs))
    team = EnsembleRun.of(transduction_runs)
    split = team.corpus().split("test")
    expected = decode_run(team, split, team.config.decoding)
    text = "".join(f"{source}\n" for source in expected.sources)
    assert generated([*runs, "--ensemble"], text, capsys) == expected.outputs
    assert generated([runs[0], runs[0], "--ensemble"], text, capsys) == generated([runs[0]], text, capsys)
    for options in (["--beam", "3"], ["--mbr", "6"], ["--average", "log-probabilities"]):
        assert len(generated([*runs, "--ensemble", *options], "ka\npo\n", capsys)) == 2
    assert main(["evaluate", *runs, "--ensemble", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    right = sum(output in texts for output, texts in zip(expected.outputs, expected.references, strict=True))
    assert found["scores"]["greedy"]["wer"]["value"] == pytest.approx(100 - 100 * right / len(split))
    assert found["run"] == " + ".join(runs) and found["checkpoint"].count("step-") == 2


def test_tune_writes_nothing_of_an_ensemble(transduction_runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    before = (transduction_runs[0] / "config.toml").read_bytes()
    words = ["--ensemble", "--beams", "1", "2", "--length-penalties", "1.0", "--mbr", "--limit", "5", "--json"]
    assert main(["tune", *map(str, transduction_runs), *words]) == 0
    assert json.loads(capsys.readouterr().out)["written"] is False
    assert (transduction_runs[0] / "config.toml").read_bytes() == before


def test_runs_that_cannot_be_one_are_told(
    transduction_runs: list[Path], tiny_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = map(str, transduction_runs)
    assert "have different vocabularies, and an ensemble has one" in refused(
        ["evaluate", one, str(tiny_run), "--ensemble"], capsys
    )
    assert "name another one beside" in refused(["evaluate", one, "--ensemble"], capsys)
    assert "2 runs are named; add --ensemble" in refused(["evaluate", one, two], capsys)
    assert "several runs as one: add --ensemble" in refused(["generate", one, two], capsys)
    assert Run.open(one).fingerprints == Run.open(two).fingerprints
