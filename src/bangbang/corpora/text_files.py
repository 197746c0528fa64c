"""Reading text files line by line, with errors that name the place."""

import bz2
import gzip
import hashlib
import lzma
import os
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

from bangbang.errors import InputError
from bangbang.plain_files import check_plain, open_plain

BOM = b"\xef\xbb\xbf"
# what a damaged file raises; lz4 raises RuntimeError
UNREADABLE = (OSError, EOFError, zlib.error, lzma.LZMAError, RuntimeError)
LINE_BYTES = 64 * 2**20
HASH_WHOLE = 256 * 2**20  # bytes; of larger files only the ends are hashed
CHUNK = 2**20


def at_home(name: str) -> Path:
    """A path whose `~`, if it begins with one, is somebody's home."""
    try:
        return Path(name).expanduser()
    except RuntimeError:
        raise InputError(f"{name}: nobody knows whose home this is; write the path out") from None


def open_binary(path: Path) -> IO[bytes]:
    """The bytes of a plain file, unpacked if its name ends in .gz, .xz, .bz2 or .lz4."""
    check_plain(path)
    if path.suffix == ".lz4":
        import lz4.frame

        stream: IO[bytes] = lz4.frame.open(path)
        return stream
    openers: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
    opened: IO[bytes] = openers.get(path.suffix, open)(path, "rb")
    return opened


def lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file. Only `\\n` ends a line; one `\\r` before it and a byte order mark are taken off."""
    number = 0
    try:
        with open_binary(path) as stream:
            # of a line, no more than it may have: a small packed file can be one endless line
            for number, line in enumerate(iter(partial(stream.readline, LINE_BYTES + 1), b""), 1):
                if len(line) > LINE_BYTES:
                    raise InputError(f"{path}:{number}: a line of more than {LINE_BYTES // 2**20} MB")
                if number == 1:
                    line = line.removeprefix(BOM)
                yield line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}:{number}: not UTF-8 (byte {error.start + 1} of the line): {error.reason}") from None
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except UNREADABLE as error:
        raise InputError(f"{path}:{number + 1}: cannot be read: {error}") from None


def identity(path: Path) -> dict[str, Any]:
    """What tells one content of a file from another: its hash, or for a large file its ends and its time."""
    try:
        digest = hashlib.blake2b(digest_size=16)
        with open_plain(path) as stream:
            status = os.fstat(stream.fileno())
            if status.st_size <= HASH_WHOLE:
                while block := stream.read(CHUNK):
                    digest.update(block)
                return {"file": path.name, "size": status.st_size, "hash": digest.hexdigest()}
            digest.update(stream.read(CHUNK))
            stream.seek(-CHUNK, os.SEEK_END)
            digest.update(stream.read(CHUNK))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    return {"file": path.name, "size": status.st_size, "time": status.st_mtime_ns, "hash": digest.hexdigest()}
