"""Reading text files line by line, with errors that name the place."""

import bz2
import gzip
import hashlib
import lzma
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from bangbang.errors import InputError

BOM = b"\xef\xbb\xbf"
HASH_WHOLE = 256 * 2**20  # bytes; of larger files only the ends are hashed
CHUNK = 2**20


def open_binary(path: Path) -> IO[bytes]:
    """The bytes of a file, unpacked if its name ends in .gz, .xz, .bz2 or .lz4."""
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
            for number, line in enumerate(stream, 1):
                if number == 1:
                    line = line.removeprefix(BOM)
                yield line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}:{number}: not UTF-8 (byte {error.start + 1} of the line): {error.reason}") from None
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (OSError, EOFError, lzma.LZMAError, RuntimeError) as error:  # lz4 raises RuntimeError
        raise InputError(f"{path}:{number + 1}: cannot be read: {error}") from None


def identity(path: Path) -> dict[str, Any]:
    """What tells one content of a file from another: its hash, or for a large file its ends and its time."""
    try:
        status = path.stat()
        digest = hashlib.blake2b(digest_size=16)
        with path.open("rb") as stream:
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
