"""Every kind of objective has a row in docs/methods.md, and what the rows name is there."""

import ast
import importlib
import re
from pathlib import Path

from bangbang import registry

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "methods.md").read_text("utf-8").splitlines()
HEAD, *ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE if line.startswith("| ")]


def named(column: str, pattern: str) -> dict[str, list[str]]:
    """What each row names in a column, by the row's method."""
    return {row[0]: re.findall(pattern, row[HEAD.index(column)]) for row in ROWS}


def test_every_kind_has_a_row_and_every_row_is_whole() -> None:
    kinds = {match[1] for row in ROWS if (match := re.match(r"`([a-z-]+)`", row[0]))}
    assert kinds == set(registry.built_in("objectives"))
    for row in ROWS:
        assert len(row) == len(HEAD) and all(row), row[0]


def test_functions_exist() -> None:
    for method, functions in named("function", r"`((?:[a-z_]+\.)+\w+)`").items():
        assert functions, method
        for name in functions:
            module, _, attribute = name.rpartition(".")
            assert hasattr(importlib.import_module(f"bangbang.{module}"), attribute), name


def test_tests_exist() -> None:
    for method, tests in named("tests", r"`(tests/[^`]+)`").items():
        assert tests, method
        for name in tests:
            path, _, function = name.partition("::")
            tree = ast.parse((ROOT / path).read_text("utf-8"))
            assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, name


def test_lines_that_are_no_rows_are_short() -> None:
    assert not [line for line in PAGE if len(line) > 120 and not line.startswith("|")]
