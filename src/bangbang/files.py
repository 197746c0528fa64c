"""Files and folders written whole or not at all: a reader sees the old content or the new, never a part."""

import errno
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from bangbang.errors import InputError

JSON_BYTES = 64 * 2**20
WAYS_OUT = {
    errno.ENOSPC: "make room",
    errno.EDQUOT: "make room",
    errno.EFBIG: "allow larger files (ulimit -f)",
    errno.EROFS: "make the disk writable",
    errno.EACCES: "get permission to write there",
    errno.EPERM: "get permission to write there",
    errno.EMFILE: "allow more open files (ulimit -n)",
    errno.ENFILE: "close files of other programs",
    errno.EIO: "look after the disk",
}


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A stream whose content becomes the file `path` if the block succeeds, and goes nowhere otherwise.

    An OSError names `path`: the system's own names a temporary file, or nothing.
    """
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        temporary = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            temporary.chmod(0o666 & ~umask())
            temporary.replace(path)
            sync(path.parent)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file, text as UTF-8, in place of what was there."""
    with whole_file(path) as stream:
        stream.write(content.encode() if isinstance(content, str) else content)


def check_place(path: Path) -> None:
    """An InputError if a file cannot be made at `path`: said before the long work whose result it is to hold."""
    if path.is_dir():
        raise InputError(f"{path}: is a folder; name a file")
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise InputError(f"{path}: cannot be written; {path.parent} is not a folder, or is read-only")


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
        temporary.chmod(0o777 & ~umask())
        publish(temporary, folder, replace)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def publish(draft: Path, folder: Path, replace: bool = False) -> None:
    """Give a finished folder its name, once all of it is on the disk itself."""
    for path in (draft, *draft.rglob("*")):
        sync(path)
    if replace:
        remove_folder(folder)
    try:
        draft.rename(folder)
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
            raise
    sync(folder.parent)


def remove_folder(folder: Path) -> None:
    """Remove a folder so that it is never seen in part: it loses its name first."""
    if not folder.exists():
        return
    nameless = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        folder.rename(nameless / folder.name)
    finally:
        shutil.rmtree(nameless, ignore_errors=True)


def sync(path: Path) -> None:
    """Have a file or folder written to the disk itself."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def way_out(error: Exception, then: str) -> str:
    """What to do about a write that failed, before what was begun is done again: "make room, then go on"."""
    # safetensors gives the system's number within its text
    told = re.search(r"\(os error (\d+)\)", str(error))
    number = error.errno if isinstance(error, OSError) else told and int(told[1])
    return f"{WAYS_OUT[number]}, then {then}" if number in WAYS_OUT else then


def umask() -> int:
    """The process's file mode mask, which can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def read_json(path: Path, limit: int = JSON_BYTES) -> dict[str, Any]:
    """The object in a JSON file; anything else, or a file larger than any of ours, is an InputError."""
    try:
        if path.stat().st_size > limit:
            raise InputError(f"{path}: larger than {limit // 2**20} MB")
        table = json.loads(path.read_text("utf-8"))
    except InputError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: damaged or missing ({error})") from None
    if not isinstance(table, dict):
        raise InputError(f"{path}: damaged (no JSON object)")
    return table


def refuse_links(folder: Path, *names: str) -> None:
    """An InputError if one of these entries of a folder is a symbolic link: what is written there goes elsewhere."""
    for name in names:
        path = folder / name
        if path.is_symlink():
            raise InputError(f"{path}: is a symbolic link; replace it by what it points to")
