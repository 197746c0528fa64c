"""Files and folders written whole or not at all: a reader sees the old content or the new, never a part."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bangbang.errors import InputError


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file, text as UTF-8, in place of what was there."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content.encode() if isinstance(content, str) else content)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(0o666 & ~umask())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def whole_folder(folder: Path, replace: bool = False) -> Iterator[Path]:
    """A temporary folder that becomes `folder` if the block succeeds, and is removed otherwise.

    A folder that has that name by then stays, as another process's same work, unless it is to be replaced.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    except OSError as error:
        raise InputError(f"{folder.parent}: cannot be written ({error.strerror}); choose another folder") from None
    try:
        yield temporary
        for path in temporary.rglob("*"):
            sync(path)
        temporary.chmod(0o777 & ~umask())
        if replace:
            shutil.rmtree(folder, ignore_errors=True)
        try:
            temporary.rename(folder)
        except OSError:
            if not folder.exists():
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def sync(path: Path) -> None:
    """Have a file or folder written to the disk itself."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def umask() -> int:
    """The process's file mode mask, which can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
