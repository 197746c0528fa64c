"""Folders reached without following a symbolic link, at any depth.

Whoever made a folder may have put links into it, so that what is written there goes elsewhere. A path is walked name by
name, from the working folder or the root; each name is opened relative to the folder before it, and not if it is a
link. Between that and the use of the folder nobody can put a link in its place: what is open stays open.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bangbang.errors import InputError

# to pass through a folder one need not be allowed to list it; O_PATH, where there is one, asks for no more
PASSING = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """OSErrors of the block name `path`: the system's own would name a part of it, or a temporary file, or nothing."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None


@contextmanager
def reached(folder: Path, make: bool = False) -> Iterator[int]:
    """A descriptor of `folder` for `dir_fd`; an InputError if a link is on the way. `make` makes what is missing."""
    descriptor = os.open(folder.anchor or ".", PASSING)
    try:
        for path in (*reversed(folder.parents), folder):
            if path.name:  # neither the root nor the working folder
                inner = enter(descriptor, path, make)
                os.close(descriptor)
                descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def enter(outer: int, path: Path, make: bool) -> int:
    """A descriptor of the folder `path`, whose parent is open as `outer`."""
    try:
        return open_entry(outer, path, PASSING)
    except FileNotFoundError:
        if not make:
            raise
    with naming(path), suppress(FileExistsError):  # another process made it, or somebody a link: the next line tells
        os.mkdir(path.name, dir_fd=outer)
    return open_entry(outer, path, PASSING)


def open_entry(outer: int, path: Path, flags: int) -> int:
    """A descriptor of `path`, whose parent is open as `outer`; an InputError if it is a link."""
    try:
        with naming(path):
            return os.open(path.name, flags | os.O_NOFOLLOW, 0o666, dir_fd=outer)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR) and is_link(outer, path.name):
            raise link_error(path) from None
        raise


def is_link(outer: int, name: str) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=outer, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def link_error(path: Path) -> InputError:
    return InputError(f"{path}: is a symbolic link; replace it by what it points to, or name that")


def refuse_links(folder: Path, *names: str) -> None:
    """An InputError if one of these entries of a folder is a link: said before the long work that would end there."""
    for name in names:
        if (folder / name).is_symlink():
            raise link_error(folder / name)


def named(path: Path) -> Path:
    """The place that the user means by `path`: links on the way to it, and at its end, are the user's own.

    It is `path` itself where there are no links.
    """
    real = Path(os.path.realpath(path))
    return path if real == absolute(path) else real


def absolute(path: Path) -> Path:
    """Without `..`, and with links as they are."""
    return Path(os.path.normpath(path.absolute()))


def below(home: Path, path: Path) -> Path | None:
    """`path` as a place below `home`: links on the way to `home` are followed, those after it are kept, to be refused.

    None if it is elsewhere.
    """
    real, whole = Path(os.path.realpath(home)), absolute(path)
    for parent in (*reversed(whole.parents), whole):
        if Path(os.path.realpath(parent)) == real:
            place = real / whole.relative_to(parent)
            return Path(os.path.normpath(path)) if place == whole else place
    return None
