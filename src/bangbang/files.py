"""Files and folders written whole or not at all: a reader sees the old content or the new, never a part.

All writing, moving and removing goes through here. Nothing is written through a symbolic link, wherever in its path:
`folders.py` says how. A file that is made is always a new one; a link or a file of that name gives way to it.
"""

import errno
import json
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from bangbang.errors import InputError
from bangbang.folders import named, naming, open_entry, reached
from bangbang.plain_files import read_plain

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
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A stream whose content becomes the file `path` if the block succeeds, and goes nowhere otherwise."""
    draft = draft_of(path)
    with naming(path), reached(path.parent) as folder:
        try:
            with os.fdopen(open_entry(folder, draft, NEW), "wb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(draft.name, path.name, src_dir_fd=folder, dst_dir_fd=folder)
            sync(".", folder)
        finally:
            discard(draft.name, folder)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file, text as UTF-8, in place of what was there."""
    with whole_file(path) as stream:
        stream.write(content.encode() if isinstance(content, str) else content)


def write_output(path: Path, content: str | bytes) -> None:
    """Write a file that the user names: links on the way to it are the user's own."""
    write_whole(named(path.parent) / path.name, content)


def check_place(path: Path) -> None:
    """An InputError if a file cannot be made at `path`: said before the long work whose result it is to hold."""
    if path.is_dir():
        raise InputError(f"{path}: is a folder; name a file")
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise InputError(f"{path}: cannot be written; {path.parent} is not a folder, or is read-only")


def check_folder(folder: Path) -> None:
    """The same of a folder that is to be made, or filled."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise InputError(f"{folder}: cannot be written; {there} is not a folder, or is read-only")


def new_file(path: Path) -> IO[bytes]:
    """A new file to write to; what had that name is gone. Unlike `whole_file`, it is seen as it grows."""
    with naming(path), reached(path.parent) as folder:
        with suppress(FileNotFoundError):
            os.unlink(path.name, dir_fd=folder)
        return os.fdopen(open_entry(folder, path, NEW), "wb")


def open_kept(path: Path, flags: int) -> int:
    """A descriptor of a file that is kept and changed in place; made, with its folder, if it is missing.

    Only a plain file that has no second name elsewhere is taken.
    """
    with reached(path.parent, make=True) as folder:
        # without waiting: a pipe has perhaps nobody at its other end
        descriptor = open_entry(folder, path, flags | os.O_CREAT | os.O_NONBLOCK)
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        os.close(descriptor)
        raise InputError(f"{path}: is no plain file, or a hard link; remove it")
    return descriptor


def append_file(path: Path) -> IO[str]:
    return os.fdopen(open_kept(path, os.O_WRONLY | os.O_APPEND), "a", encoding="utf-8")


def make_folder(folder: Path) -> None:
    """A folder, with those above it, if it is not there."""
    with reached(folder, make=True):
        pass


@contextmanager
def whole_folder(folder: Path, replace: bool = False) -> Iterator[Path]:
    """A temporary folder that becomes `folder` if the block succeeds, and is removed otherwise.

    A folder that has that name by then stays, as another process's same work, unless it is to be replaced.
    """
    draft = draft_of(folder)
    try:
        with reached(folder.parent, make=True) as parent:
            os.mkdir(draft.name, dir_fd=parent)
    except OSError as error:
        raise InputError(f"{folder.parent}: cannot be written ({error.strerror}); choose another folder") from None
    try:
        yield draft
        publish(draft, folder, replace)
    finally:
        remove(draft)


def publish(draft: Path, folder: Path, replace: bool = False) -> None:
    """Give a finished folder its name, once all of it is on the disk itself. Both have the same parent."""
    with naming(folder), reached(folder.parent) as parent:
        sync_all(draft.name, parent)
        if replace:
            remove_at_once(folder.name, parent)
        try:
            os.rename(draft.name, folder.name, src_dir_fd=parent, dst_dir_fd=parent)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
        sync(".", parent)


def move(old: Path, new: Path) -> None:
    """Give a file or folder another name in the same folder; a file that had that name is gone."""
    with naming(new), reached(new.parent) as parent:
        os.replace(old.name, new.name, src_dir_fd=parent, dst_dir_fd=parent)


def remove(path: Path) -> None:
    """Remove a file, a link or a folder with all in it, as far as that can be done."""
    with suppress(OSError, InputError), reached(path.parent) as parent:
        discard(path.name, parent)


def remove_folder(folder: Path) -> None:
    """Remove a folder so that it is never seen in part: it loses its name first."""
    with suppress(FileNotFoundError), reached(folder.parent) as parent:
        remove_at_once(folder.name, parent)


def remove_at_once(name: str, parent: int) -> None:
    nameless = draft_of(Path(name)).name
    try:
        os.rename(name, nameless, src_dir_fd=parent, dst_dir_fd=parent)
    except FileNotFoundError:
        return
    discard(nameless, parent)


def discard(name: str, folder: int) -> None:
    """Remove an entry of an open folder; of a link, the link."""
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        pass
    except (IsADirectoryError, PermissionError):  # Linux's and the BSDs' words for a folder
        shutil.rmtree(name, ignore_errors=True, dir_fd=folder)


def draft_of(path: Path) -> Path:
    """A hidden name beside `path` that nobody can foresee."""
    return path.with_name(f".{path.name}.{secrets.token_hex(6)}")


def sync(name: str, folder: int) -> None:
    """Have a file or folder written to the disk itself."""
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def way_out(error: OSError, then: str) -> str:
    """What to do about a write that failed, before what was begun is done again: "make room, then go on"."""
    return f"{WAYS_OUT[error.errno]}, then {then}" if error.errno in WAYS_OUT else then


def sync_all(name: str, parent: int) -> None:
    """Have a folder and all below it written to the disk itself."""
    for _, _, files, folder in os.fwalk(name, topdown=False, dir_fd=parent):
        for file in files:
            if stat.S_ISREG(os.stat(file, dir_fd=folder, follow_symlinks=False).st_mode):
                sync(file, folder)
        os.fsync(folder)


def read_json(path: Path, limit: int = JSON_BYTES) -> dict[str, Any]:
    """The object in a JSON file; anything else, or a file larger than any of ours, is an InputError."""
    try:
        table = json.loads(read_plain(path, limit).decode("utf-8"))
    except OSError as error:
        raise InputError(f"{path}: damaged or missing ({error.strerror})") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"{path}: damaged ({str(error) or 'larger than the memory'})") from None
    if not isinstance(table, dict):
        raise InputError(f"{path}: damaged (no JSON object)")
    return table
