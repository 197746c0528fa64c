"""Standard error leads nowhere for a while: where the Rust side of `tokenizers` gives up, it prints a backtrace there
before Python gets the exception that says the same in one line."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

ERRORS = 2  # the descriptor of standard error, which libraries write to past `sys.stderr`


class Hush:
    """Threads may be in it at once: the first redirects, the last restores."""

    def __init__(self) -> None:
        self._lock, self._inside, self._kept = Lock(), 0, -1

    @contextmanager
    def __call__(self) -> Iterator[None]:
        self._enter()
        try:
            yield
        finally:
            self._leave()

    def _enter(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._kept = redirected()

    def _leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0 and self._kept != -1:
                os.dup2(self._kept, ERRORS)
                os.close(self._kept)


def redirected() -> int:
    """What standard error was, or -1 where it is closed and stays so."""
    try:
        kept = os.dup(ERRORS)
    except OSError:
        return -1
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, ERRORS)
    os.close(nowhere)
    return kept


hushed = Hush()
