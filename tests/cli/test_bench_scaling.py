"""`bangbang bench scaling` at small sizes: what is measured and shown; the numbers themselves want idle cores."""

import json
import time
from pathlib import Path

import psutil
import pytest
from rich.console import Console

from bangbang import config as configs
from bangbang.cli.main import main
from benchmarks import processes, scaling, training
from benchmarks.paced_run import LOG_EVERY, TURN, Pace, PacedRun, Rounds, turn_rate, usable_cores


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--processes", "1"], "--processes must be at least 2"),
        (["--processes", "2", "--rounds", "0"], "--rounds: must be at least 1"),
    ],
)
def test_too_little_to_measure_is_refused(
    tiny_config: Path, option: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "scaling", "--config", str(tiny_config), *option]) == 2
    assert message in capsys.readouterr().err


def test_speedups_are_medians_of_the_rounds() -> None:
    rates = [(100.0, 180.0, 190.0), (50.0, 60.0, 90.0), (100.0, 150.0, 160.0)]
    result = processes.speedup(Rounds([tuple([Pace(rate, 8.0)] for rate in each) for each in rates], 0.01))
    assert result == {
        "speedup": 1.5,
        "independent": 1.8,
        "one": 100,
        "all": 150,
        "rounds": [1.8, 1.2, 1.5],
        "cores": [100],
        "lengths": {"one": 8, "all": 8, "cost_per_token": 0},
        "stolen": 0.01,
    }


def test_one_process_counts_with_its_mean_over_cores() -> None:
    turns = tuple([Pace(rate, 8.0)] for rate in (100.0, 60.0, 128.0, 144.0))
    result = processes.speedup(Rounds([turns], 0.0))
    assert result["one"] == 80 and result["speedup"] == 1.6 and result["cores"] == [100, 60]
    assert result["independent"] == 1.8


def test_rates_are_told_at_the_same_length() -> None:
    """Seconds are 1 + 0.1 length, halved by two processes, which meet longer targets."""

    def turn(lengths: tuple[int, ...], count: int) -> list[Pace]:
        return [Pace(count / (1 + 0.1 * length), length) for length in lengths]

    one, every = [turn((4, 6), 1), turn((7, 8), 1)], [turn((9, 12), 2), turn((10, 7), 2)]
    result = processes.speedup(Rounds(list(zip(one, every, every, strict=True)), 0.0))
    # a relative slope that both runs share cannot be exact for both: 0.1/1.625 and 0.1/1.95 of their means
    assert result["speedup"] == pytest.approx(2, rel=0.02)
    assert turn_rate(every[0]) / turn_rate(one[0]) < 1.5
    assert 0.1 / 1.95 < result["lengths"]["cost_per_token"] < 0.1 / 1.625


def test_shorter_targets_never_count_as_slower() -> None:
    turns = [[Pace(100.0, 4.0), Pace(200.0, 8.0)]], [[Pace(100.0, 4.0), Pace(200.0, 9.0)]]
    rates, slope = processes.at_one_length(*turns)
    assert slope == 0 and rates == [[turn_rate(turn) for turn in each] for each in turns]


def test_a_run_works_in_its_turns_only_and_leaves_out_the_interval_of_the_pause(
    tiny_config: Path, tmp_path: Path
) -> None:
    with PacedRun(tiny_config, ["objective.kind=bbspg"], tmp_path / "run") as run:
        time.sleep(0.2)  # a line may be written before the pause takes hold
        before = len(run.intervals())
        time.sleep(0.5)
        assert len(run.intervals()) == before
        core = usable_cores()[-1:] or [None]
        rate = turn_rate(run.turn(core[0]))
        assert core == [None] or psutil.Process(run.job.pid).cpu_affinity() == core
        after = run.intervals()
        time.sleep(0.5)
        assert len(run.intervals()) <= len(after) + 1  # one line may have been written before the pause took hold
        pid = run.job.pid
    assert len(after) >= before + 1 + TURN
    assert all(pace.length > 1 for pace in after)
    after = [pace.rate for pace in after]
    of_the_turn = after[before + 1 : before + 1 + TURN]
    assert min(of_the_turn) * 0.9 < rate < max(after[before + 1 :]) * 1.1
    batch_size = configs.read(tiny_config, []).training.batch_size
    assert LOG_EVERY * batch_size / after[before] > 0.5  # seconds: the pause lies in it
    assert not psutil.pid_exists(pid)


def test_two_processes_are_measured_against_one(tiny_config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["--config", str(tiny_config), "--rounds", "1", "--objectives", "mle"]
    assert main(["bench", "scaling", "--processes", "2", *sizes, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)["mle"]
    assert result["speedup"] == result["rounds"][0] == result["all"] / result["one"] > 0
    assert result["stolen"] >= 0 and result["independent"] > 0


def test_a_run_that_fails_is_an_error_that_says_why(tiny_config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["bench", "scaling", "--processes", "2", "--config", str(tiny_config), "--set", "training.init=nowhere"]
    assert main(command) == 2
    assert "a run of 1 process(es) failed" in capsys.readouterr().err


def test_configs_are_measured_against_the_first(tiny_config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["bench", "training", str(tiny_config), str(tiny_config), "--rounds", "2"]
    assert main([*command, "--json"]) == 0
    first, second = (result := json.loads(capsys.readouterr().out))["runs"]
    assert first["cost"] == 1 and first["rounds"] == [1, 1] and first["examples_per_second"] > 0
    assert min(second["rounds"]) <= second["cost"] <= max(second["rounds"]) and second["cost"] > 0
    console = Console(width=100)
    with console.capture() as captured:
        console.print(training.table(result))
    assert f"{second['cost']:.2f}×" in captured.get()


def test_costs_are_medians_of_quotients() -> None:
    result = training.compared(Path("c.toml"), [(100.0, 50.0), (90.0, 100.0), (100.0, 80.0)])
    assert result == {"config": "c.toml", "examples_per_second": 80, "cost": 1.25, "rounds": [2.0, 0.9, 1.25]}


def test_the_table_names_every_objective() -> None:
    row = {"speedup": 1.8, "independent": 1.93, "one": 100.0, "all": 180.0, "rounds": [1.8], "stolen": 0.034}
    console = Console(width=100)
    with console.capture() as captured:
        console.print(scaling.table({"processes": 2, "torch": "2", "mle": row, "bbspg": row}))
    assert (
        "bbspg" in captured.get() and "1.80" in captured.get() and "1.93" in captured.get() and "3.4%" in captured.get()
    )


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
    assert "--batches: must be at least 1" in capsys.readouterr().err
    assert main(["bench", "scaling", "--lengths", "1"]) == 2
    assert "--lengths: must be at least 2" in capsys.readouterr().err
