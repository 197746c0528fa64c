"""Processes that run verbs for `benchmarks.hostile`, many in a row: a fork would cost as much as a verb."""

import base64
import contextlib
import functools
import gc
import io
import json
import os
import resource
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

import torch
from PIL import Image

from bangbang import registry
from bangbang.cli.main import main as bangbang
from bangbang.serving import Server
from bangbang.serving.server import RefusedError

SECONDS = 30
MEMORY = 2 * 2**30  # bytes that a process may take beyond what is there when it starts
BATCH = 150  # cases of one process
TYPED = b"a text about some thing\n"
C = TypeVar("C")


class Outcome(NamedTuple):
    code: int
    told: str
    """All that it printed."""


class Streams(NamedTuple):
    """What a verb reads and writes, in place of the standard streams."""

    typed: IO[bytes]
    told: IO[bytes]

    def run(self, arguments: Sequence[str], folder: Path) -> Outcome:
        """A verb in this process, whose standard streams are not restored."""
        os.chdir(folder)
        self.typed.seek(0)
        self.told.seek(0)
        self.told.truncate()
        for number, file in enumerate((self.typed, self.told, self.told)):
            os.dup2(file.fileno(), number)
        sys.stdin = os.fdopen(0, closefd=False)
        sys.stdout, sys.stderr = (os.fdopen(stream, "w", closefd=False) for stream in (1, 2))
        code = 70
        try:
            code = bangbang(arguments)
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 70
        except BaseException:
            traceback.print_exc()
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        self.told.seek(0)
        return Outcome(code, self.told.read().decode(errors="replace"))


def attempts(
    cases: Sequence[C], attempt: Callable[[C, Callable[[Sequence[str], Path], Outcome]], str]
) -> Iterator[tuple[C, str]]:
    """Each case and what went wrong with it, or nothing. A process that does not go on is killed, and the next case
    gets a new one."""
    left = list(cases)
    while left:
        batch = left[:BATCH]
        for done, trouble in enumerate(worker(batch, attempt)):
            left.pop(0)
            yield batch[done], trouble


def worker(batch: Sequence[C], attempt: Callable[..., str]) -> Iterator[str]:
    """What a process of its own tells of one case after the other, until one of them is its last."""
    gc.freeze()
    receiver, sender = Pipe(duplex=False)
    child = os.fork()
    if child == 0:
        work(batch, attempt, sender)
    sender.close()
    for _ in batch:
        try:
            if receiver.poll(SECONDS):
                yield receiver.recv_bytes().decode()
                continue
            os.kill(child, signal.SIGKILL)
            yield "did not end"
        except EOFError:
            yield "ended the process"
        break
    receiver.close()
    os.waitpid(child, 0)


def work(batch: Sequence[C], attempt: Callable[..., str], sender: Connection) -> None:
    """The life of a process."""
    try:
        torch.set_num_threads(1)
        spare_time()
        limit_memory()
        with tempfile.TemporaryFile() as typed, tempfile.TemporaryFile() as told:
            typed.write(TYPED)
            typed.flush()
            for case in batch:
                sender.send_bytes(attempt(case, Streams(typed, told).run).encode(errors="replace"))
    finally:
        os._exit(0)


def in_process(words: Sequence[str], folder: Path) -> None:
    """A verb alone in a process that ends with it."""
    try:
        torch.set_num_threads(1)
        spare_time()
        with tempfile.TemporaryFile() as typed, tempfile.TemporaryFile() as told:
            typed.write(TYPED)
            typed.flush()
            os._exit(Streams(typed, told).run(words, folder).code)
    finally:
        os._exit(70)


def limit_memory() -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))


def spare_time() -> None:
    """Packages are looked for once; a server answers two questions and ends."""
    looked_up: Any = functools.cache(registry.entry_points)
    registry.entry_points = looked_up
    served: Any = answer_twice
    Server.serve_forever = served


def answer_twice(server: Server) -> None:
    """A question of a text, and one of a picture: a run refuses one of them."""
    drawn = io.BytesIO()
    Image.new("RGB", (8, 8)).save(drawn, "png")
    picture = base64.b64encode(drawn.getvalue()).decode()
    for question in ({"text": "a text", "reference": "text about thing 1"}, {"picture": picture}):
        with contextlib.suppress(RefusedError):
            server.answer(json.dumps(question).encode())
