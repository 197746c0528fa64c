"""`bangbang bench scaling`: its options and its table; the measurement itself wants idle cores and minutes."""

from pathlib import Path

import pytest
from rich.console import Console

from bangbang.bench import scaling
from bangbang.cli.main import main


@pytest.mark.parametrize("option", [["--processes", "1"], ["--steps", "10"]])
def test_too_little_to_measure_is_refused(
    tiny_config: Path, option: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "scaling", "--config", str(tiny_config), *option]) == 2
    assert "--processes must be at least 2 and --steps above 10" in capsys.readouterr().err


def test_the_rate_leaves_out_the_first_intervals(tiny_config: Path, tmp_path: Path) -> None:
    import argparse
    import json
    import statistics

    arguments = argparse.Namespace(config=tiny_config, set=[], steps=20)
    rate = scaling.throughput(arguments, "bbspg", tmp_path / "run", 1)
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    rates = [line["examples_per_second"] for line in lines if line["kind"] == "train"]
    assert len(rates) == 4 and rate == statistics.median(rates[2:])


def test_the_table_names_every_objective() -> None:
    row = {"speedup": 1.8, "one": 100.0, "all": 180.0, "rounds": [1.8]}
    console = Console(width=100)
    with console.capture() as captured:
        console.print(scaling.table({"processes": 2, "torch": "2", "mle": row, "bbspg": row}))
    assert "bbspg" in captured.get() and "1.80" in captured.get()
