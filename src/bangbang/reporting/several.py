"""Runs evaluated side by side, each by a process of one thread: more threads gain decoding little."""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.queues import SimpleQueue
from threading import Thread
from typing import ClassVar

import torch

from bangbang.errors import InputError
from bangbang.reporting.evaluation import Evaluation, LabelledRun, evaluate, is_kept
from bangbang.training.stopping import end_with_parent

Progress = Callable[[int], None]
Lines = SimpleQueue[int | None]


class Worker:
    """What a process of the pool knows."""

    lines: ClassVar[Lines]
    """Where it says how many it has decoded."""


def evaluate_all(
    runs: Sequence[LabelledRun], decoders: Sequence[str], jobs: int, progress: Progress
) -> list[Evaluation]:
    """`evaluate` for each run, those that have to be decoded `jobs` at a time.

    Workers keep what they decode in the runs' folders, where it is read. An accelerator, which they would share, gets
    one after the other.
    """
    waiting = [run for run in runs if not is_kept(run, decoders)]
    workers = min(jobs, len(waiting))
    if workers < 2 or torch.accelerator.is_available():
        return [evaluate(run, decoders, progress) for run in runs]
    with (
        heard(progress) as lines,
        ProcessPoolExecutor(workers, get_context("spawn"), begin, (lines, os.getpid())) as pool,
    ):
        try:
            for each in [pool.submit(work, run, decoders) for run in waiting]:
                each.result()
        except BrokenProcessPool:
            raise InputError(
                "a process that decoded was killed, as when memory runs out; what is done is kept, and the same goes on"
            ) from None
    return [evaluate(run, decoders, progress if run not in waiting else lambda lines: None) for run in runs]


@contextmanager
def heard(progress: Progress) -> Iterator[Lines]:
    """A queue; `progress` hears of what is put there."""
    lines: Lines = get_context("spawn").SimpleQueue()

    def listen() -> None:
        while (count := lines.get()) is not None:
            progress(count)

    listener = Thread(target=listen)
    listener.start()
    try:
        yield lines
    finally:
        lines.put(None)
        listener.join()


def begin(lines: Lines, parent: int) -> None:
    """In a worker, before its first run. Ctrl-C reaches it as well as its parent, which speaks for both; if that one is
    killed, nobody waits for what a worker decodes."""
    Worker.lines = lines
    end_with_parent(parent)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    torch.set_num_threads(1)


def work(run: LabelledRun, decoders: Sequence[str]) -> None:
    evaluate(run, decoders, Worker.lines.put)
