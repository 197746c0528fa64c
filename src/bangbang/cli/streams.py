"""Standard streams whatever the caller made of them: closed, or in an encoding that lacks a character."""

import io
import os
import sys
from pathlib import Path
from typing import BinaryIO, TextIO, cast

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
