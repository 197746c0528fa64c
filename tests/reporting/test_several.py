"""Runs evaluated side by side: what one process after the other would find, and every line is heard of once."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from bangbang.errors import InputError
from bangbang.reporting import LabelledRun
from bangbang.reporting import several as module
from bangbang.reporting.evaluation import is_kept, lines_to_decode
from bangbang.reporting.several import evaluate_all
from tests.reporting.test_evaluation import same

WAYS = ("greedy", "beam")


@pytest.fixture
def copies(labelled_runs: list[LabelledRun], tmp_path: Path) -> list[LabelledRun]:
    """Runs that nobody has evaluated."""
    for number, run in enumerate(labelled_runs[:2]):
        shutil.copytree(run.folder, tmp_path / str(number))
        (tmp_path / str(number) / "test.json").unlink(missing_ok=True)
    return [run._replace(folder=tmp_path / str(number)) for number, run in enumerate(labelled_runs[:2])]


def test_two_processes_find_what_one_finds(copies: list[LabelledRun]) -> None:
    lines = sum(lines_to_decode(run, WAYS) for run in copies)
    heard: list[int] = []
    together = evaluate_all(copies, WAYS, 2, heard.append)
    assert sum(heard) == lines and all(is_kept(run, WAYS) for run in copies)
    for run in copies:
        (run.folder / "test.json").unlink()
    heard.clear()
    assert not any(is_kept(run, WAYS) for run in copies)
    alone = evaluate_all(copies, WAYS, 1, heard.append)
    assert sum(heard) == lines and all(map(same, together, alone))


def test_what_is_kept_starts_no_process(copies: list[LabelledRun], monkeypatch: pytest.MonkeyPatch) -> None:
    first = evaluate_all(copies, WAYS, 1, lambda lines: None)
    monkeypatch.delattr(module, "ProcessPoolExecutor")
    heard: list[int] = []
    assert all(map(same, first, evaluate_all(copies, WAYS, 2, heard.append)))
    assert sum(heard) == sum(lines_to_decode(run, WAYS) for run in copies)


def test_an_error_in_a_process_is_the_parents(copies: list[LabelledRun]) -> None:
    facts = copies[1].folder / "corpus.json"
    facts.write_text(json.dumps({**json.loads(facts.read_text()), "fingerprint": "of another corpus"}))
    with pytest.raises(InputError, match="was trained on another corpus"):
        evaluate_all(copies, WAYS, 2, lambda lines: None)


def dies(run: LabelledRun, decoders: tuple[str, ...]) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_worker_is_one_line(copies: list[LabelledRun], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "work", dies)
    with pytest.raises(InputError, match="a process that decoded was killed"):
        evaluate_all(copies, WAYS, 2, lambda lines: None)


PARENT = """
import os, time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from bangbang.reporting.several import begin

if __name__ == "__main__":
    lines = get_context("spawn").SimpleQueue()
    with ProcessPoolExecutor(1, get_context("spawn"), begin, (lines, os.getpid())) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        pool.submit(time.sleep, 600)
"""


def test_workers_end_with_the_process_that_they_work_for(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        worker = psutil.Process(int(parent.stdout.readline()))
        os.kill(parent.pid, signal.SIGKILL)
    deadline = time.monotonic() + 30
    while worker.is_running() and worker.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline, "the worker goes on"
        time.sleep(0.1)
