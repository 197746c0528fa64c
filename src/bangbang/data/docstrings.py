"""The built-in corpus: docstrings of installed Python packages, body → one-line summary. Nothing is imported."""

import ast
import inspect
import re
import sys
import warnings
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from bangbang.config import DataConfig
from bangbang.data.families import normalised, opening
from bangbang.data.pairs import Ledger, Pair, Reader
from bangbang.data.prose import clean, prose
from bangbang.data.sides import number
from bangbang.errors import InputError

SKIPPED_FOLDERS = {"tests", "test", "_vendor", "vendored", "node_modules", "__pycache__"}
# a docstring of a summary line, a blank line and more: files without one need not be parsed
WORTH_PARSING = re.compile(rb"(\"\"\"|''')\s*[^\n]+\n\s*\n")
SUMMARY_WORDS = (3, 20)
BODY_WORDS = (8, 400)
OPENING_WORDS = 8
NODES = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Found(NamedTuple):
    body: str
    summary: str


def reader(data: DataConfig) -> Reader:
    """The docstrings below `data.path`, or those of all installed packages."""
    roots = [Path(data.path)] if data.path else site_packages()
    for root in roots:
        if not root.is_dir():
            raise InputError(f"{root}: no such folder to harvest docstrings from")
    identity = files_identity(roots[0]) if data.path else packages_identity(roots)
    return Reader("docstrings", identity, {"train": lambda ledger: pairs(roots, ledger)})


def site_packages() -> list[Path]:
    names = ("site-packages", "dist-packages")
    return sorted({Path(entry).resolve() for entry in sys.path if Path(entry).name in names and Path(entry).is_dir()})


def packages_identity(roots: list[Path]) -> dict[str, Any]:
    found = metadata.distributions(path=[str(root) for root in roots])
    return {"kind": "docstrings", "packages": sorted({f"{one.name} {one.version}" for one in found})}


def files_identity(root: Path) -> dict[str, Any]:
    sizes = [
        (path.relative_to(root).as_posix(), path.stat().st_size, path.stat().st_mtime_ns) for path in sources(root)
    ]
    return {"kind": "docstrings", "files": len(sizes), "hash": f"{number(repr(sizes)):016x}"}


def sources(root: Path) -> list[Path]:
    """The Python files below a folder, in order, without tests, vendored copies and this package."""
    kept = []
    for path in root.rglob("*.py"):
        parts = path.relative_to(root).parts
        if not SKIPPED_FOLDERS.intersection(parts[:-1]) and parts[0] != "bangbang" and path.is_file():
            kept.append(path)
    return sorted(kept)


def pairs(roots: list[Path], ledger: Ledger) -> Iterator[Pair]:
    """The pairs in the order of their files; those whose bodies open alike are a family."""
    for pair in distinct(harvest(roots, ledger), ledger):
        yield Pair(pair.body, (pair.summary,), opening(pair.body, OPENING_WORDS))


def harvest(roots: list[Path], ledger: Ledger) -> Iterator[Found]:
    paths = [path for root in roots for path in sources(root)]
    for done, path in enumerate(paths):
        ledger.progress(done, len(paths))
        for docstring in docstrings(path, ledger):
            if pair := split_docstring(docstring, ledger):
                yield Found(*pair)


def docstrings(path: Path, ledger: Ledger) -> Iterator[str]:
    """All docstrings of a file, top to bottom; of a file that cannot be read or parsed, none."""
    try:
        text = path.read_bytes()
        if not WORTH_PARSING.search(text):
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
        nodes = [node for node in ast.walk(tree) if isinstance(node, NODES)]
    except OSError:
        ledger.drop("file not readable")
        return
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        ledger.drop("file not parsable")
        return
    for node in sorted(nodes, key=lambda node: getattr(node, "lineno", 0)):
        if docstring := ast.get_docstring(node, clean=False):
            yield docstring


def split_docstring(docstring: str, ledger: Ledger) -> tuple[str, str] | None:
    """(body, summary) of a docstring that has both, in sentences good enough to learn from."""
    lines = inspect.cleandoc(docstring).splitlines()
    summary, body = clean(lines[0]) if lines else "", prose(lines[2:])
    if len(lines) < 3 or lines[1].strip() or not body:
        return None
    words = len(summary.split())
    if not SUMMARY_WORDS[0] <= words <= SUMMARY_WORDS[1]:
        ledger.drop("summary too short or too long")
    elif not BODY_WORDS[0] <= len(body.split()) <= BODY_WORDS[1]:
        ledger.drop("body too short or too long")
    elif not (is_sentence(summary) and is_sentence(body)):
        ledger.drop("not a sentence")
    else:
        return body, summary
    return None


def is_sentence(text: str) -> bool:
    """Mostly letters and blanks, most of them in words: no signature, formula, path or table."""
    letters = sum(character.isalpha() or character == " " for character in text)
    plain = sum(word.strip(".,;:!?()\"'").replace("-", "").replace("'", "").isalpha() for word in text.split())
    return letters >= 0.8 * len(text) and plain >= 0.6 * len(text.split()) and text.isascii()


def distinct(found: Iterator[Found], ledger: Ledger) -> Iterator[Found]:
    """The first pair of each summary and of each body."""
    summaries: set[int] = set()
    bodies: set[int] = set()
    for pair in found:
        summary, body = number(normalised(pair.summary)), number(normalised(pair.body))
        if summary in summaries or body in bodies:
            ledger.drop("same summary or body as another")
        else:
            yield pair
        summaries.add(summary)
        bodies.add(body)
