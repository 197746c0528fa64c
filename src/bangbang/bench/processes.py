"""Throughput of several one-thread processes against one, by real training runs that torchrun starts.

Each process takes batches of the config's size, so that N processes see N times as many examples a step. A run with one
process and one with N are both under way and take turns of a few seconds: while one trains, the other is suspended.
Cores of a shared machine may change their speed by a third within a minute; so both runs see the same of it. A round is
a turn of each; its speedup is the quotient of their examples per second, and the median over rounds is reported. Needs
as many idle cores as processes: processes that wait for each other at every step lose what any core loses. `stolen` is
what a virtual machine's host took from its cores meanwhile, as a share of one core. The corpus is made first if it is
not there.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from bangbang.errors import InputError

if TYPE_CHECKING:
    from rich.console import RenderableType

LOG_EVERY = 5  # steps
WARM_UP = 2  # intervals of the log before the first turn
TURN = 3  # intervals of the log that count in a turn, after one that a stop has cut
ENDLESS = 10**9  # steps


def add_arguments(parser: argparse._ArgumentGroup) -> None:
    parser.add_argument("--config", type=Path, default=Path("configs/headlines-debian.toml"))
    parser.add_argument("--set", action="append", default=[], metavar="TABLE.KEY=VALUE", help="change a setting")
    parser.add_argument("--objectives", default="mle,bbspg", help="objective.kind of the runs (mle,bbspg)")
    parser.add_argument("--rounds", type=int, default=9, help="turns of each run")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    import tempfile

    import torch

    from bangbang import config as configs
    from bangbang.data import prepare

    if arguments.processes < 2 or arguments.rounds < 1:
        raise InputError("--processes must be at least 2 and --rounds at least 1")
    config = configs.read(arguments.config, arguments.set)
    prepare(config.data, config.vocabulary, may_make=configs.may_make_corpus(config, arguments.config, arguments.set))
    result: dict[str, Any] = {"processes": arguments.processes, "torch": torch.__version__}
    with tempfile.TemporaryDirectory() as folder:
        for kind in arguments.objectives.split(","):
            with (
                PacedRun(arguments, kind, Path(folder) / f"{kind}-one", 1) as one,
                PacedRun(arguments, kind, Path(folder) / f"{kind}-all", arguments.processes) as every,
            ):
                began, before = time.monotonic(), stolen_seconds()
                rounds = [(one.turn(), every.turn()) for _ in range(arguments.rounds)]
                stolen = (stolen_seconds() - before) / (time.monotonic() - began)
                result[kind] = {**speedup(rounds), "stolen": stolen}
    return result


def stolen_seconds() -> float:
    """How long the cores of a virtual machine had work and were not let run, in all; 0 where that is not known."""
    return float(getattr(psutil.cpu_times(), "steal", 0.0))


def speedup(rounds: list[tuple[float, float]]) -> dict[str, Any]:
    """Of the examples per second of one process and of all, round by round."""
    return {
        "speedup": statistics.median(many / one for one, many in rounds),
        "one": statistics.median(one for one, _ in rounds),
        "all": statistics.median(many for _, many in rounds),
        "rounds": [many / one for one, many in rounds],
    }


class PacedRun:
    """A training run in processes of one thread each, which is stopped but for its turns."""

    def __init__(self, arguments: argparse.Namespace, kind: str, run: Path, processes: int) -> None:
        self.run, self.processes = run, processes
        launch = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(processes)]
        settings = {
            "objective.kind": kind,
            "training.max_steps": ENDLESS,
            "training.validate_every": ENDLESS,
            "training.log_every": LOG_EVERY,
        }
        changes = [*arguments.set, *(f"{key}={value}" for key, value in settings.items())]
        self.command = [sys.executable, *(launch if processes > 1 else []), "-m", "bangbang", "train"]
        self.command += [str(arguments.config), "--out", str(run)]
        self.command += [part for change in changes for part in ("--set", change)]

    def __enter__(self) -> "PacedRun":
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        self.errors = self.run.with_suffix(".errors")
        with self.errors.open("wb") as errors:
            self.job = subprocess.Popen(
                self.command, env=environment, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors
            )
        try:
            self.wait_for(WARM_UP)
        except BaseException:
            self.__exit__()
            raise
        self.suspend()
        return self

    def __exit__(self, *reason: object) -> None:
        # the parent last: else its children would no longer be known as such
        for process in reversed(self.job_processes()):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self.job.wait()

    def turn(self) -> float:
        """Examples per second of a few intervals of the log."""
        before = len(self.intervals())
        for process in self.job_processes():
            process.resume()
        intervals = self.wait_for(before + 1 + TURN)
        self.suspend()
        return statistics.harmonic_mean(intervals[before + 1 :])  # each has as many examples

    def suspend(self) -> None:
        for process in self.job_processes():
            process.suspend()

    def job_processes(self) -> list[psutil.Process]:
        """torchrun and its workers, or the one process."""
        try:
            first = psutil.Process(self.job.pid)
            return [first, *first.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def wait_for(self, count: int) -> list[float]:
        while len(intervals := self.intervals()) < count:
            if self.job.poll() is not None:
                errors = self.errors.read_text("utf-8", "replace")[-500:]
                raise InputError(f"a run of {self.processes} process(es) failed: {errors}")
            time.sleep(0.02)
        return intervals

    def intervals(self) -> list[float]:
        """Examples per second of each interval of the log so far."""
        journal = self.run / "metrics.jsonl"
        lines = journal.read_text("utf-8").split("\n")[:-1] if journal.exists() else []  # what follows is not whole
        return [line["examples_per_second"] for line in map(json.loads, lines) if line["kind"] == "train"]


def table(result: dict[str, Any]) -> "RenderableType":
    from rich.table import Table

    grid = Table(title=f"one process and {result['processes']}, one thread each", title_justify="left")
    for name in ("objective", "one: examples/s", "all: examples/s", "speedup", "stolen"):
        grid.add_column(name, justify="left" if name == "objective" else "right")
    for kind, row in result.items():
        if isinstance(row, dict):
            grid.add_row(
                kind, f"{row['one']:.0f}", f"{row['all']:.0f}", f"{row['speedup']:.2f}", f"{row['stolen']:.1%}"
            )
    return grid
