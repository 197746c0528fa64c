"""Files of texts, one a line: how the scoring verbs read them."""

import sys
from collections.abc import Sequence
from pathlib import Path

from bangbang.errors import InputError

STDIN = "-"


def read_lines(path: str) -> list[str]:
    """The lines of a UTF-8 file, or of standard input for "-". A line ends at a line feed, and drops one \\r there."""
    if path == STDIN:
        data = sys.stdin.buffer.read()
    else:
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}") from error
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return [_decoded(line, path, number) for number, line in enumerate(lines, 1)]


def _decoded(line: bytes, path: str, number: int) -> str:
    try:
        return line.removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}, line {number}: byte {error.start + 1} is not UTF-8; convert the file, for example with iconv"
        ) from error


def read_aligned(
    candidate_paths: Sequence[str], reference_paths: Sequence[str]
) -> tuple[list[list[str]], list[list[str]]]:
    """Each system's candidates, and the references of each example; all files must have as many lines."""
    paths = [*candidate_paths, *reference_paths]
    if paths.count(STDIN) > 1:
        raise InputError('only one file can be "-", standard input')
    files = [read_lines(path) for path in paths]
    for path, lines in zip(paths, files, strict=True):
        if len(lines) != len(files[0]):
            raise InputError(f"{paths[0]} has {len(files[0])} lines but {path} has {len(lines)}; they must go together")
    if not files[0]:
        raise InputError(f"{paths[0]} has no lines")
    systems = files[: len(candidate_paths)]
    return systems, [list(texts) for texts in zip(*files[len(candidate_paths) :], strict=True)]
