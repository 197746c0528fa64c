"""Every function and test that docs/paper-to-code.md names is there."""

import ast
import importlib
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROWS = [line for line in (ROOT / "docs" / "paper-to-code.md").read_text("utf-8").splitlines() if line.startswith("| ")]


def test_functions_exist() -> None:
    named = {name for row in ROWS[1:] for name in re.findall(r"`((?:[a-z_]+\.)+\w+)`", row.split("|")[3])}
    assert len(named) > 20
    for name in sorted(named):
        module, _, attribute = name.rpartition(".")
        try:
            importlib.import_module(f"bangbang.{name}")
        except ModuleNotFoundError:
            assert hasattr(importlib.import_module(f"bangbang.{module}"), attribute), name


def test_tests_exist() -> None:
    named = {name for row in ROWS[1:] for name in re.findall(r"`(tests/[^`]+)`", row)}
    assert len(named) > 20
    for name in sorted(named):
        path, _, function = name.partition("::")
        tree = ast.parse((ROOT / path).read_text("utf-8"))
        assert not function or function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, name
    assert all(len(row.split("|")) == 6 for row in ROWS)
