"""`bangbang bench mbr` runs small, by a random model and by a run's, and has the keys that programs read."""

import json
from pathlib import Path

import pytest

from bangbang.cli.main import main

SMALL = ["--lines", "3", "--samples", "4", "--vocab", "30", "--dim", "8", "--source-length", "5", "--mean-length", "3"]


@pytest.mark.parametrize(
    ("options", "utilities"),
    [
        ([], ["rouge-l", "rouge-n", "bleu", "gleu", "cider-d", "edit-distance"]),
        (["--run", "RUN"], ["rouge-l", "chrf"]),
    ],
)
def test_it_measures_every_utility(
    tiny_run: Path, options: list[str], utilities: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = [word.replace("RUN", str(tiny_run)) for word in options]
    assert main(["bench", "mbr", *SMALL, *words, "--utilities", *utilities, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert list(result["utilities"]) == utilities and result["drawing_seconds"] > 0
    assert all(numbers["times"] > 1 for numbers in result["utilities"].values())
    assert result["lines"] == 3 and 1 <= result["distinct"] <= 4
    assert main(["bench", "mbr", *SMALL, *words, "--utilities", *utilities]) == 0
    assert "times the drawing" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [(["--utilities", "chrf"], "add --run RUN"), (["--lines", "0"], "must be at least 1")],
)
def test_bad_options_are_told(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "mbr", *SMALL, *options]) == 2
    assert message in capsys.readouterr().err
