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
PASSING = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW


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
        try:
            return os.open(path.name, PASSING, dir_fd=outer)
        except FileNotFoundError:
            if not make:
                raise
        with suppress(FileExistsError):  # another process made it, or somebody a link: the next line tells
            os.mkdir(path.name, dir_fd=outer)
        return os.open(path.name, PASSING, dir_fd=outer)
    except OSError as error:
        refuse_link(error, outer, path)
        raise OSError(error.errno, error.strerror, str(path)) from None


def refuse_link(error: OSError, outer: int, path: Path) -> None:
    """An InputError if a link is the reason why `path`, in the folder open as `outer`, could not be opened."""
    if error.errno not in (errno.ELOOP, errno.ENOTDIR):
        return
    with suppress(OSError):
        if stat.S_ISLNK(os.stat(path.name, dir_fd=outer, follow_symlinks=False).st_mode):
            raise link_error(path) from None


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
