"""Standard streams whatever the caller made of them: closed, or in an encoding that lacks a character."""

import io
import json
import math
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

from bangbang.control_characters import visible
from bangbang.errors import InputError


def prepare() -> None:
    """At the start: what the terminal's encoding lacks is written as an escape; a closed stdout is bad input."""
    if cast(TextIO | None, sys.stderr) is None:  # `2>&-`: nobody listens
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115  # until the process ends
    if cast(TextIO | None, sys.stdout) is None:
        raise InputError("standard output is closed; send it to a file, or to /dev/null")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def write_utf8() -> None:
    """What programs read (JSON, generated lines, TOML) is UTF-8, whatever the locale is."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")


def print_json(value: Any, indent: int | None = None) -> None:
    """JSON in the strict sense, in one write."""
    print(json.dumps(strict(value), indent=indent, ensure_ascii=False, allow_nan=False))


def print_line(*columns: str) -> None:
    """One line, tab-separated: a text cannot break it, nor tell the terminal anything."""
    print("\t".join(visible(column.replace("\n", " ").replace("\t", " ")) for column in columns))


def strict(value: Any) -> Any:
    """Numbers that JSON does not have: NaN becomes null, infinities the words by which TOML calls them."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if isinstance(value, Mapping):
        return {key: strict(entry) for key, entry in value.items()}
    return [strict(entry) for entry in value] if isinstance(value, list | tuple) else value


def standard_input() -> BinaryIO:
    if cast(TextIO | None, sys.stdin) is None:
        raise InputError("standard input is closed; give it a file, or a pipe")
    return sys.stdin.buffer


def abandon_output() -> None:
    """Nothing more can be written to stdout, and Python must not complain again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def settle_output() -> None:
    """After an error: write what is left, if that is possible."""
    try:
        sys.stdout.flush()
    except OSError:
        abandon_output()
