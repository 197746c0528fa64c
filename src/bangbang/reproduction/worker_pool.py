"""Trainings side by side, each in a process of its own; all of them can be stopped and gone on with at any moment."""

import os
import shlex
import signal
import subprocess
import sys
import time
from typing import IO

from bangbang.errors import InputError
from bangbang.files import append_file
from bangbang.locks import locked
from bangbang.reproduction.display import Display
from bangbang.reproduction.plan import Plan, Training
from bangbang.reproduction.standing import standing
from bangbang.reproduction.status import last_lines, latest
from bangbang.training import retention
from bangbang.training.stopping import StopRequest

POLL_SECONDS = 0.25
LOG_LINES = 8


def cores() -> int:
    """The processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def environment(threads: int = 1) -> dict[str, str]:
    """So many threads for a process, unless the caller says otherwise."""
    return {"OMP_NUM_THREADS": str(threads), **os.environ}


def threads_of(training: Training, plan: Plan, jobs: int) -> int:
    """One for each training, which share the cores among them; all for one that every other starts from.

    By the plan alone: a training that goes on has as many as it began with.
    """
    others = [each for each in plan.trainings if each.name != training.name]
    return jobs if others and all(each.after == training.name for each in others) else 1


class Child:
    """A training's process, and the log that it writes."""

    def __init__(self, training: Training, log: IO[str], threads: int = 1) -> None:
        self.training, self.log = training, log
        begun = bool(retention.listed(training.folder / "checkpoints"))
        arguments = training.resume if begun else training.start
        print("$", shlex.join(["bangbang", *arguments]), file=log, flush=True)
        # a session of its own: Ctrl-C reaches the parent alone, which tells its children once
        self.process = subprocess.Popen(
            # with --debug, the log has what a report of a defect needs
            [sys.executable, "-m", "bangbang", *arguments, "--end-with-parent", str(os.getpid()), "--debug"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment(threads),
            start_new_session=True,
        )

    def stop(self) -> None:
        """Ask it to end after its step, with a checkpoint; asked a second time, it ends at once."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)


class WorkerPool:
    """Who is done, who works, who waits and who failed."""

    def __init__(self, plan: Plan, jobs: int) -> None:
        self.plan, self.jobs = plan, jobs
        self.running: list[Child] = []
        self.waiting: list[Training] = []
        self.done: set[str] = set()
        self.failed: dict[str, str] = {}
        self.held: set[str] = set()
        self.steps: dict[str, int] = {}
        for training in plan.trainings:
            found = standing(training.folder, training.config)
            self.steps[training.name] = found.step
            if found.done:
                self.done.add(training.name)
            else:
                self.waiting.append(training)

    def work(self) -> bool:
        """Train until all have ended, or a signal asks to stop. Returns whether it was interrupted."""
        with Display(self.plan, self.steps, self.done) as display, StopRequest() as stop:
            told = False
            try:
                while self.running or (self.waiting and not stop.made):
                    if stop.made and not told:
                        told = True
                        display.say("stopping: every training finishes its step and writes a checkpoint")
                        self.stop()
                    if not stop.made:
                        self.start(display)
                    self.collect(display, stop.made)
                    display.show({child.training.name: latest_of(child.training) for child in self.running})
                    time.sleep(POLL_SECONDS)
            finally:
                self.stop()
                self.wait()
        return stop.made

    def stop(self) -> None:
        for child in self.running:
            child.stop()

    def wait(self) -> None:
        for child in self.running:
            child.process.wait()
            child.log.close()

    def start(self, display: Display) -> None:
        """As many of those that can begin as there are jobs."""
        for training in list(self.waiting):
            if training.after in self.failed:
                self.waiting.remove(training)
                self.fail(training, f"it starts from {training.after}, which failed", display)
            elif len(self.running) < self.jobs and self.can_begin(training, display):
                self.waiting.remove(training)
                log = append_file(self.plan.out / "logs" / f"{training.name}.log")
                self.running.append(Child(training, log, threads_of(training, self.plan, self.jobs)))
                display.begin(training)

    def can_begin(self, training: Training, display: Display) -> bool:
        """Whether what it starts from is done, and no other process (a killed parent's child, say) holds its folder."""
        if training.after and training.after not in self.done:
            return False
        try:
            with locked(training.folder):
                return True
        except InputError as error:
            if training.name not in self.held:
                self.held.add(training.name)
                display.say(f"waiting: {error}")
            return False

    def collect(self, display: Display, stopping: bool) -> None:
        """Those that have ended: done, or not."""
        for child in list(self.running):
            code = child.process.poll()
            if code is None:
                continue
            training = child.training
            self.running.remove(child)
            child.log.close()
            found = standing(training.folder, training.config)
            if found.done:
                self.done.add(training.name)
                display.end(training, f"done in {found.seconds / 60:.1f} minutes of training", done=True)
            elif stopping and code in (0, -signal.SIGTERM):
                display.end(training, f"stopped at step {found.step}")
            else:
                lines = last_lines(self.plan.out / "logs" / f"{training.name}.log", LOG_LINES)
                self.fail(training, "\n    ".join([f"{ended(code)} at step {found.step}:", *lines]), display)

    def fail(self, training: Training, reason: str, display: Display) -> None:
        self.failed[training.name] = reason
        display.end(training, f"FAILED: {reason}")


def ended(code: int) -> str:
    """How a process ended that is not done."""
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return "was stopped" if code == 0 else f"exit code {code}"


def latest_of(training: Training) -> tuple[int, float | None]:
    return latest(training.folder, training.config.metric)
