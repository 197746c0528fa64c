"""The best way of decoding for each run, by validation alone: `bangbang tune` side by side, one thread each."""

import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bangbang.errors import InputError
from bangbang.files import append_file, read_json
from bangbang.reproduction.status import last_lines
from bangbang.reproduction.worker_pool import environment
from bangbang.training import Run
from bangbang.training.tuning import TUNED

# few of each, to be quick; of a word model, by MLE and by RLOO, validation liked beam 4 and these temperatures best
GRID = ("--beams", "1", "4", "--length-penalties", "1.0", "--mbr", "16", "--temperatures", "0.4", "0.6")
ROWS = 250


def tune_runs(folders: Sequence[Path], logs: Path, jobs: int) -> None:
    """Tune what is not tuned yet."""
    waiting = [folder for folder in folders if not is_tuned(folder)]
    with ThreadPoolExecutor(max(1, jobs)) as pool:
        list(pool.map(lambda folder: tune_run(folder, logs / f"tune-{folder.name}.log"), waiting))


def is_tuned(folder: Path) -> bool:
    """Whether its decoder was chosen with the very weights that it has now."""
    if not (folder / TUNED).exists():
        return False
    run, record = Run.open(folder), read_json(folder / TUNED)
    same = record.get("checkpoint") == run.checkpoint_name("best")
    return same and record.get("corpus") == run.corpus_facts.get("fingerprint")


def tune_run(folder: Path, log: Path) -> None:
    command = [sys.executable, "-m", "bangbang", "tune", str(folder), "--limit", str(ROWS), *GRID]
    env = environment()
    with append_file(log) as file:
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=env, check=False)
    if ended.returncode:
        told = " ".join(last_lines(log, 1))
        raise InputError(f"{folder}: no decoder was chosen (exit code {ended.returncode}): {told}; {log} has more")
