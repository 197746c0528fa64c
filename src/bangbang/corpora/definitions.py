"""Modules, classes and functions of a Python file, parsed with `ast`: their names and docstrings."""

import ast
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bangbang.corpora.pairs import Ledger

# a docstring of a summary line, a blank line and more: files without one need not be parsed
WORTH_PARSING = re.compile(rb"(\"\"\"|''')\s*[^\n]+\n\s*\n")
Named = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
IDENTIFIER_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+")


class Documented(NamedTuple):
    name: str
    """The identifier; of a module, the file's name, or the folder's if the file is `__init__.py`."""
    inside: str
    """The name of the class or function around it; empty at the top of a module."""
    docstring: str

    @property
    def title(self) -> str:
        """The names in words: `HTTPServer.bind_address` is "HTTP Server bind address"."""
        return " ".join(part for part in map(identifier_words, (self.inside, self.name)) if part)


def identifier_words(identifier: str) -> str:
    """The words of an identifier in snake_case or CamelCase."""
    return " ".join(IDENTIFIER_PART.findall(identifier))


def documented(path: Path, ledger: Ledger) -> Iterator[Documented]:
    """What has a docstring in a file, top to bottom; of a file that cannot be read or parsed, nothing."""
    try:
        text = path.read_bytes()
        if not WORTH_PARSING.search(text):
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
        found = definitions(tree)
    except OSError:
        ledger.drop("file not readable")
        return
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        ledger.drop("file not parsable")
        return
    if docstring := ast.get_docstring(tree, clean=False):
        yield Documented(path.parent.name if path.stem == "__init__" else path.stem, "", docstring)
    for node, inside in found:
        if docstring := ast.get_docstring(node, clean=False):
            yield Documented(node.name, inside, docstring)


def definitions(tree: ast.Module) -> list[tuple[Named, str]]:
    """The classes and functions of a file with the name of what is around them, in the order of their lines."""
    waiting: list[tuple[ast.AST, str]] = [(tree, "")]
    found: list[tuple[Named, str]] = []
    while waiting:
        parent, inside = waiting.pop()
        for node in ast.iter_child_nodes(parent):
            if isinstance(node, Named):
                found.append((node, inside))
            waiting.append((node, node.name if isinstance(node, Named) else inside))
    return sorted(found, key=lambda item: item[0].lineno)
