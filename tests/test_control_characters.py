"""Texts cannot tell a terminal anything: what a stranger's corpus, names or errors hold is written, never obeyed."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

from bangbang.cli import main as cli
from bangbang.cli.streams import print_json, print_line, strict
from bangbang.control_characters import visible
from bangbang.terminal import Console

CLEAR, TITLE = "\x1b[2J", "\x1b]0;mine\x07"
CONTROLS = {chr(code) for code in (*range(32), *range(127, 160))} - {"\t", "\n"}


@given(st.text())
def test_no_control_character_is_left(text: str) -> None:
    shown = visible(text)
    assert not CONTROLS & set(shown)
    assert visible(shown) == shown
    if not CONTROLS & set(text):
        assert shown == text


def test_a_console_shows_them() -> None:
    console = Console()
    console.file = io.StringIO()
    grid = Table(title=Text(CLEAR))
    grid.add_column(Text(TITLE))
    grid.add_row(f"a{CLEAR}b")
    console.print(grid)
    console.print(f"plain {CLEAR}{TITLE}\x9b2J")
    written = console.file.getvalue()
    assert r"a\x1b[2" in written and r"plain \x1b[2J\x1b]0;mine" in written and r"\x9b" in written
    assert not CONTROLS & set(written)


def test_colours_are_the_consoles_own() -> None:
    """Styles still reach a terminal: only what a text holds is shown instead."""
    console = Console()
    console.file, console._force_terminal, console._color_system = io.StringIO(), True, None
    console.print(Text(CLEAR), style="bold")
    assert r"\x1b[2J" in console.file.getvalue()


def test_an_error_shows_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["train", f"{CLEAR}.toml", "--out", "anywhere"]) == 2
    told = capsys.readouterr().err
    assert r"\x1b[2J.toml" in told and "\x1b" not in told


def test_a_line_stays_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_line("1", f"two\nlines\tand {CLEAR}")
    assert capsys.readouterr().out == "1\ttwo lines and \\x1b[2J\n"


def test_json_is_strict(capsys: pytest.CaptureFixture[str]) -> None:
    value = {"scores": [1.5, float("nan"), (float("inf"), -float("inf"))], "text": "\x1b", "none": None, "whole": 3}
    print_json(value, indent=1)

    def refuse(name: str) -> None:
        raise AssertionError(name)

    read = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert read == {"scores": [1.5, None, ["inf", "-inf"]], "text": "\x1b", "none": None, "whole": 3} == strict(value)
