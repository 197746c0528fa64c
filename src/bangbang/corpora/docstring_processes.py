"""Docstrings read by several processes: parsing the files of an environment takes a minute or two of one core.

Each process is given its share of the paths, and answers with a line of JSON for each file, in their order. Processes
of their own rather than those of `multiprocessing`, which would run the script of whoever calls this a second time.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from bangbang.corpora.docstrings import Found, read
from bangbang.errors import InputError

FILES_EACH = 500  # fewer are read sooner than a process starts
Read = tuple[list[Found], Counter[str]]


def processes_for(files: int) -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, files // FILES_EACH))


def read_side_by_side(paths: Sequence[Path], processes: int | None = None) -> Iterator[Read]:
    """What `docstrings.read` finds in each file, in order; `processes`: by default, one for each core."""
    count = processes_for(len(paths)) if processes is None else processes
    if count == 1:
        yield from map(read, paths)
        return
    with ExitStack() as stack:
        workers = [stack.enter_context(started(paths[place::count])) for place in range(count)]
        stack.callback(kill, workers)  # where nobody asks for the rest
        for place, path in enumerate(paths):
            stdout = workers[place % count].stdout
            assert stdout is not None
            line = stdout.readline()
            if not line.endswith(b"\n"):
                raise InputError(f"{path}: the process that read it has ended; is there memory left?")
            found, drops = json.loads(line)
            yield [Found(*each) for each in found], Counter(drops)


def started(paths: Sequence[Path]) -> subprocess.Popen[bytes]:
    """A process that reads these files. `-P`: what lies in the working folder is not imported."""
    command = [sys.executable, "-P", "-m", __name__]
    worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert worker.stdin is not None
    with worker.stdin as stdin:  # it answers when it has them all, so neither waits for the other
        stdin.write(b"\0".join(map(os.fsencode, paths)))
    return worker


def kill(workers: Sequence[subprocess.Popen[bytes]]) -> None:
    for worker in workers:
        worker.kill()


def answer() -> None:
    for name in sys.stdin.buffer.read().split(b"\0"):
        found, drops = read(Path(os.fsdecode(name)))
        sys.stdout.buffer.write(json.dumps([found, drops]).encode() + b"\n")


if __name__ == "__main__":
    answer()
