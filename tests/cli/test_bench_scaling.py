"""`bangbang bench scaling` at small sizes: what is measured and shown; the numbers themselves want idle cores."""

import argparse
import json
from pathlib import Path

import pytest
from rich.console import Console

from bangbang.bench import processes, scaling
from bangbang.cli.main import main


@pytest.mark.parametrize("option", [["--processes", "1"], ["--processes", "2", "--steps", "10"]])
def test_too_little_to_measure_is_refused(
    tiny_config: Path, option: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "scaling", "--config", str(tiny_config), *option]) == 2
    assert "--processes must be at least 2 and --steps above 10" in capsys.readouterr().err


def test_the_rate_leaves_out_the_first_intervals(tiny_config: Path, tmp_path: Path) -> None:
    import statistics

    arguments = argparse.Namespace(config=tiny_config, set=[], steps=20)
    rate = processes.throughput(arguments, "bbspg", tmp_path / "run", 1)
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    rates = [line["examples_per_second"] for line in lines if line["kind"] == "train"]
    assert len(rates) == 4 and rate == statistics.median(rates[2:])


def test_two_processes_are_measured_against_one(
    tiny_config: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def throughput(arguments: argparse.Namespace, kind: str, run: Path, count: int) -> float:
        return measured(arguments, kind, run, count) if count > 1 else 100.0  # one process is the test above

    measured = processes.throughput
    monkeypatch.setattr(processes, "throughput", throughput)
    sizes = ["--config", str(tiny_config), "--steps", "11", "--rounds", "1"]
    assert main(["bench", "scaling", "--processes", "2", *sizes, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    for kind in ("mle", "bbspg"):
        assert result[kind]["all"] > 0 and result[kind]["one"] == 100
        assert result[kind]["speedup"] == result[kind]["rounds"][0] == result[kind]["all"] / 100


def test_the_table_names_every_objective() -> None:
    row = {"speedup": 1.8, "one": 100.0, "all": 180.0, "rounds": [1.8]}
    console = Console(width=100)
    with console.capture() as captured:
        console.print(scaling.table({"processes": 2, "torch": "2", "mle": row, "bbspg": row}))
    assert "bbspg" in captured.get() and "1.80" in captured.get()


SMALL = ["--batches", "2", "4", "--lengths", "3", "--vocabs", "50", "--batch", "4", "--vocab", "60", "--dim", "8"]


def test_growth_is_measured_at_every_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plot = tmp_path / "growth.svg"
    assert main(["bench", "scaling", *SMALL, "--repeats", "1", "--plot", str(plot), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [row["value"] for row in result["batch"]] == [2, 4]
    assert len(result["length"]) == len(result["vocab"]) == 1
    for axis in ("batch", "length", "vocab"):
        for row in result[axis]:
            assert row["mle"]["ratio_per_position"] == 1 and row["bbspg"]["seconds_per_position"] > 0
    assert result["batch"][1]["mle"]["positions"] > result["batch"][0]["mle"]["positions"]
    assert "<svg" in plot.read_text()


def test_growth_of_sizes_too_small_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "scaling", "--batches", "0"]) == 2
    assert "--batches: 0 is too small" in capsys.readouterr().err
