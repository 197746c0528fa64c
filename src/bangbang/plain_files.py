"""Files that somebody else made, opened to be read: plain files only, and not larger than they may be.

A pipe in place of a file would make a command wait forever, a device would never end. Both are an OSError here, as a
file is that is missing.
"""

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path


def open_plain(path: Path, limit: int | None = None) -> BufferedReader:
    """A plain file, links followed; an OSError if it is anything else, or of more than `limit` bytes."""
    # without waiting: a pipe has perhaps nobody at its other end
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    found = os.fstat(descriptor)
    if stat.S_ISREG(found.st_mode) and (limit is None or found.st_size <= limit):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "is a pipe or a device, not a file", str(path))
    assert limit is not None
    raise OSError(errno.EFBIG, f"larger than {limit // 2**20} MB", str(path))


def read_plain(path: Path, limit: int) -> bytes:
    """All of a plain file of at most `limit` bytes."""
    with open_plain(path, limit) as file:
        return file.read(limit)


def check_plain(path: Path) -> None:
    """An OSError unless it is a plain file: before a library opens it by its name."""
    open_plain(path).close()
