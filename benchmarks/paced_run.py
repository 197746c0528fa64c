"""Training runs that take turns: real ones, each in processes of its own, of which only one trains at a time.

The cores of a shared machine may change their speed by a third within a minute. Turns of a few seconds let all runs see
the same of it, so that their quotients mean something.
"""

import contextlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import psutil

from bangbang.errors import InputError

LOG_EVERY = 5  # steps
WARM_UP = 2  # intervals of the log before the first turn
TURN = 3  # intervals of the log that count in a turn, after one that a stop has cut
ENDLESS = 10**9  # steps


class Pace(NamedTuple):
    """Of an interval of the log."""

    rate: float  # examples per second
    length: float  # tokens of a reference, on average


Turn = list[Pace]


def turn_rate(turn: Turn) -> float:
    """Examples per second; each interval has as many."""
    return statistics.harmonic_mean([pace.rate for pace in turn])


class PacedRun:
    """A training run that is suspended but for its turns."""

    def __init__(
        self, config: Path, settings: Sequence[str], run: Path, processes: int = 1, threads: int | None = None
    ) -> None:
        """`settings` change the config's; `threads` of each process, or as the environment says."""
        self.run, self.processes = run, processes
        self.environment = {**os.environ, **({} if threads is None else {"OMP_NUM_THREADS": str(threads)})}
        launch = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(processes)]
        endless = {
            "training.max_steps": ENDLESS,
            "training.validate_every": ENDLESS,
            "training.validation_examples": 8,  # where it begins with weights that are validated first
            "training.log_every": LOG_EVERY,
        }
        changes = [*settings, *(f"{key}={value}" for key, value in endless.items())]
        self.command = [sys.executable, *(launch if processes > 1 else []), "-m", "bangbang", "train"]
        self.command += [str(config), "--out", str(run)]
        self.command += [part for change in changes for part in ("--set", change)]

    def __enter__(self) -> "PacedRun":
        self.errors = self.run.with_suffix(".errors")
        with self.errors.open("wb") as errors:
            self.job = subprocess.Popen(
                self.command, env=self.environment, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors
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

    def turn(self, core: int | None = None) -> Turn:
        """A few intervals of the log, on one core if it is named."""
        before = self.resume(core)
        intervals = self.wait_for(before + 1 + TURN)
        self.suspend()
        return intervals[before + 1 :]

    def resume(self, core: int | None = None) -> int:
        """Go on; returns how many intervals there are so far."""
        before = len(self.intervals())
        for process in self.job_processes():
            if core is not None:
                process.cpu_affinity([core])
            process.resume()
        return before

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

    def wait_for(self, count: int) -> Turn:
        while len(intervals := self.intervals()) < count:
            if self.job.poll() is not None:
                errors = self.errors.read_text("utf-8", "replace")[-500:]
                raise InputError(f"a run of {self.processes} process(es) failed: {errors}")
            time.sleep(0.02)
        return intervals

    def intervals(self) -> Turn:
        """Those of the log so far."""
        journal = self.run / "metrics.jsonl"
        lines = journal.read_text("utf-8").split("\n")[:-1] if journal.exists() else []  # what follows is not whole
        records = [record for record in map(json.loads, lines) if record["kind"] == "train"]
        return [Pace(record["examples_per_second"], record["reference_length"]) for record in records]


def turn_at_once(runs: Sequence[PacedRun], cores: Sequence[int | None]) -> Turn:
    """A turn of several runs at the same time, each on a core of its own, their rates added up."""
    before = [run.resume(core) for run, core in zip(runs, cores, strict=True)]
    turns = [run.wait_for(count + 1 + TURN)[count + 1 :][:TURN] for run, count in zip(runs, before, strict=True)]
    for run in runs:
        run.suspend()
    return [
        Pace(sum(pace.rate for pace in paces), statistics.mean(pace.length for pace in paces))
        for paces in zip(*turns, strict=True)
    ]


class Rounds(NamedTuple):
    turns: list[tuple[Turn, ...]]
    """Those of each round."""
    stolen: float
    """What a virtual machine's host took from its cores meanwhile, as a share of one core."""


def take_turns(takers: Sequence[Callable[[], Turn]], rounds: int, about: str) -> Rounds:
    """Rounds in which each taker has one turn, with a progress bar."""
    from rich.console import Console
    from rich.progress import track

    began, before = time.monotonic(), stolen_seconds()
    shown = track(range(rounds), about, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
    turns = [tuple(take() for take in takers) for _ in shown]
    return Rounds(turns, (stolen_seconds() - before) / (time.monotonic() - began))


def usable_cores() -> list[int | None]:
    """The cores that a process may be kept on; none where the system cannot do so."""
    process = psutil.Process()
    return list(process.cpu_affinity() or []) if hasattr(process, "cpu_affinity") else []


def stolen_seconds() -> float:
    """How long the cores of a virtual machine had work and were not let run, in all; 0 where that is not known."""
    return float(getattr(psutil.cpu_times(), "steal", 0.0))
