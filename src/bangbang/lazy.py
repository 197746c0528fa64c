"""Packages whose names are imported when they are first used.

`__init__.pyi` beside a package's `__init__.py` says which module each public name comes from. Type checkers read that
file as it is. `attach` reads it too, so that there is one list, and so that `bangbang.objectives.settings` can be
imported without torch.
"""

import ast
from collections.abc import Callable
from importlib import import_module, resources
from typing import Any


def attach(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package that has an `__init__.pyi`."""
    stub = resources.files(package).joinpath("__init__.pyi").read_text("utf-8")
    homes = {
        alias.asname or alias.name: node.module
        for node in ast.parse(stub).body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }

    def get(name: str) -> Any:
        if name in homes:
            return getattr(import_module(homes[name]), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get, lambda: sorted(homes), sorted(homes)
