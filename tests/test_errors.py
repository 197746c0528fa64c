"""Errors end in one line: bad input with exit code 2, a defect with 70. Odd streams and terminals are no error."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bangbang.cli import data as data_verb
from bangbang.cli.main import main

DEFECT = "bangbang: this is a defect of bangbang: KeyError: 'two lines'; please report it with what `--debug` prints\n"


def shell(command: str, *words: object, **environment: str) -> "subprocess.CompletedProcess[bytes]":
    """A shell command in which `bangbang` is this one and "$1", "$2", ... are the words."""
    line = f'bangbang() {{ "$PYTHON" -m bangbang "$@"; }}; {command}'
    kept = {name: value for name, value in os.environ.items() if name not in environment}
    given = {name: value for name, value in environment.items() if value} | {"PYTHON": sys.executable}
    return subprocess.run(
        ["sh", "-c", line, "sh", *map(str, words)], env=kept | given, capture_output=True, timeout=300, check=False
    )


def one_line(error: bytes) -> str:
    assert error.count(b"\n") == 1 and error.endswith(b"\n"), error.decode()
    return error.decode()


@pytest.fixture
def defective(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(arguments: object) -> int:
        raise KeyError("two lines")

    monkeypatch.setattr(data_verb, "run", fail)


def test_a_defect_is_one_line_and_exit_code_70(defective: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "x"]) == 70
    assert capsys.readouterr().err == DEFECT


@pytest.mark.parametrize("words", [["--debug", "data", "x"], ["data", "--debug", "x"], ["data", "x", "--debug"]])
def test_debug_adds_the_traceback(defective: None, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 70
    error = capsys.readouterr().err
    assert error.startswith("Traceback") and "in fail" in error and error.endswith(DEFECT)


def test_after_two_dashes_debug_is_a_word(defective: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "--", "--debug"]) == 70
    assert capsys.readouterr().err == DEFECT


@pytest.mark.parametrize(
    "error",
    [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to\nallocate 9 bytes")],
)
def test_a_lack_of_memory_is_one_line_and_exit_code_2(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(arguments: object) -> int:
        raise error

    monkeypatch.setattr(data_verb, "run", fail)
    assert main(["data", "x"]) == 2
    assert one_line(capsys.readouterr().err.encode()).startswith("bangbang: error: not enough memory (")


@pytest.mark.parametrize(
    "words", [["data"], ["train", "--out"], ["data", "x", "--show", "many"], ["data", "x", "--fly"]]
)
def test_what_the_parser_refuses_is_one_line(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert f"bangbang {words[0]} --help" in one_line(capsys.readouterr().err.encode())


CLOSED_INPUT = b"bangbang: error: standard input is closed; give it a file, or a pipe\n"
CLOSED_OUTPUT = b"bangbang: error: standard output is closed; send it to a file, or to /dev/null\n"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ('bangbang generate "$1" <&-', CLOSED_INPUT),
        ('echo a | bangbang generate "$1" >&-', CLOSED_OUTPUT),
        ('bangbang score - "$1/config.toml" <&-', CLOSED_INPUT),
        ('bangbang score "$1/config.toml" "$1/config.toml" >&-', CLOSED_OUTPUT),
    ],
)
def test_closed_streams_are_one_line_and_exit_code_2(tiny_run: Path, command: str, message: bytes) -> None:
    ended = shell(command, tiny_run)
    assert (ended.returncode, ended.stderr) == (2, message)


def test_a_closed_stderr_changes_nothing(tiny_run: Path) -> None:
    ended = shell('bangbang score "$1/config.toml" "$1/config.toml" --json 2>&-', tiny_run)
    assert ended.returncode == 0 and json.loads(ended.stdout)["examples"] > 0
    assert shell("bangbang score none none 2>&-").stdout == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full is Linux's")
@pytest.mark.parametrize("words", ["plugins", "--help", "plugins --json"])
def test_a_full_disk_is_one_line_and_exit_code_2(words: str) -> None:
    ended = shell(f"bangbang {words} > /dev/full")
    assert ended.returncode == 2 and "No space left" in one_line(ended.stderr)
