"""A lock on a folder: one process holds it, and it is let go when that process ends, however it ends."""

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bangbang.errors import InputError
from bangbang.files import open_kept

LOCK = ".lock"


class Hold:
    """A held lock. Its file says who holds it, and which job last signed it; signatures outlive their jobs."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.job = str(read_holder(descriptor).get("job", ""))
        self.sign(self.job)

    def sign(self, job: str) -> None:
        own = {"process": os.getpid(), "host": socket.gethostname(), "job": job}
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, json.dumps(own).encode(), 0)


@contextmanager
def locked(folder: Path, wait: bool = False) -> Iterator[Hold]:
    """Hold `folder` for the block. Where another process holds it, wait for its end, or raise an InputError."""
    descriptor = open_lock(folder)
    try:
        hold = take(descriptor, folder, wait)
        while not is_current(descriptor, folder):  # the last holder removed or renamed the folder
            os.close(descriptor)
            descriptor = open_lock(folder)
            hold = take(descriptor, folder, wait)
        yield hold
    finally:
        os.close(descriptor)


def is_current(descriptor: int, folder: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), (folder / LOCK).lstat())
    except FileNotFoundError:
        return False


def take(descriptor: int, folder: Path, wait: bool) -> Hold:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        return Hold(descriptor)
    except BlockingIOError:
        holder = read_holder(descriptor)
        who = f"process {holder.get('process', '?')} on {holder.get('host', '?')}"
        raise InputError(f"{folder}: in use by {who}; wait for its end, or choose another folder") from None
    except OSError as error:
        raise InputError(f"{folder}: cannot be locked ({error.strerror})") from None


def open_lock(folder: Path) -> int:
    # the file stays when the lock is let go: to remove it would race with the next process's opening it
    try:
        return open_kept(folder / LOCK, os.O_RDWR)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}); choose another folder") from None


def read_holder(descriptor: int) -> dict[str, Any]:
    try:
        holder = json.loads(os.pread(descriptor, 4096, 0))
    except (ValueError, RecursionError):
        return {}
    return holder if isinstance(holder, dict) else {}
