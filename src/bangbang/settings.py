"""What every table of a config is: a frozen dataclass of settings, each with a doc line and a rule.

A table with kinds has one dataclass for each kind, beside the kind's code. `registry` finds it by name. Nothing here
imports torch: settings can be read, checked and written in milliseconds.
"""

import ast
import dataclasses
import inspect
import textwrap
from abc import ABC
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

from bangbang.errors import InputError


@dataclass(frozen=True)
class Settings:
    """A table of a config."""

    table: ClassVar[str] = ""
    """Its name in the file, which starts error messages."""

    def require(self, **rules: tuple[bool, str]) -> None:
        """Raise an InputError for the first key whose rule does not hold: `key=(whether it holds, the rule)`."""
        for key, (holds, rule) in rules.items():
            if not holds:
                raise InputError(f"{self.table}.{key} must be {rule}, not {getattr(self, key)!r}")


@dataclass(frozen=True)
class KindSettings(Settings, ABC):
    """A table whose `kind` chooses among several dataclasses. What is abstract in a group's base, each must define."""

    group: ClassVar[str] = ""
    """The registry's group of its kinds."""

    @property
    def kind(self) -> str:
        """The name by which a config chooses it."""
        from bangbang.registry import name_of

        return name_of(type(self))


class Documented(dict[str, str]):
    """The doc line of each setting, by name."""


def documentation(kind: type[Any]) -> Documented:
    """The text below each field of a settings dataclass, its parents' fields included."""
    found = Documented()
    for cls in reversed(kind.__mro__):
        if not dataclasses.is_dataclass(cls):
            continue
        try:
            source = textwrap.dedent(inspect.getsource(cls))
        except (OSError, TypeError):  # made in an interactive session
            continue
        found.update(field_lines(ast.parse(source).body[0]))
    return found


def field_lines(node: ast.AST) -> dict[str, str]:
    """The string that follows each annotated name in a class's body, in one line."""
    body = node.body if isinstance(node, ast.ClassDef) else []
    lines = {}
    for field, text in pairwise(body):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
            and isinstance(text.value.value, str)
        ):
            lines[field.target.id] = " ".join(text.value.value.split())
    return lines
