"""The built-in corpus: docstrings of installed packages, name and body → one-line summary. Nothing is imported.

Files are parsed with `ast`. Of a docstring plain sentences are kept: markup is taken off, code, tables and parameter
lists are left out.
"""

import ast
import inspect
import platform
import re
import sys
import sysconfig
import warnings
from collections import Counter
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from bangbang.corpora.pairs import Ledger, Pair, Reader, UnionFind, normalised, opening, stable_hash
from bangbang.corpora.settings import Docstrings
from bangbang.errors import InputError

INLINE = (
    (re.compile(r":[\w:+-]+:`~?\.?([^`<]*?)(?:\s*<[^`]*>)?`"), r"\1"),  # :class:`~a.b`, :ref:`text <target>`
    (re.compile(r"`([^`<]*?)\s*<[^`]*>`_{0,2}"), r"\1"),  # `text <address>`_
    (re.compile(r"!?\[([^\]]+)\]\([^)\s]+\)"), r"\1"),  # [text](address)
    (re.compile(r"``?`?([^`]*)``?`?_{0,2}"), r"\1"),
    (re.compile(r"\*\*(\S(?:[^*]*\S)?)\*\*|(?<!\w)\*(\S(?:[^*]*\S)?)\*(?!\w)"), r"\1\2"),
    (re.compile(r"\|(\w+)\|_?|\[[#*]?\w{1,12}\]_"), r"\1"),  # |substitution|, footnotes [1]_
    (re.compile(r"<[/\w][^<>]*>|https?://\S+"), ""),
)
# the first of these ends the prose: what follows is a list of parameters, examples, references ...
HEADING = re.compile(
    r"""(?ix) ^\s* (?:
      (?:args?|arguments?|attributes|parameters?|params|keyword\s+(?:args|arguments)|kwargs|options|inputs?|outputs?|shape|
         returns?|yields?|raises?|warns|warnings?|examples?|usage|notes?|see\s+also|references?|todo|fields|methods|
         properties|side\s+effects|signature|synopsis|copyright|licen[cs]e|author|history)\s* :* \s* $
      | (?:args|arguments|parameters|returns?|yields|raises|examples?|usage|see\s+also|references)\s*:
      | [:@](?:param|type|returns?|rtype|raises?|arg|keyword|kwarg|var|ivar|cvar|sig|meta|since|author)\b
      | \#+\s )"""
)
NOISE = re.compile(r"^\s*(?:\.\.\s|\.\.$|\$\s|\||[-=~^*+#_<>.]{3,}|In \[|```|@|\\)")
ITEM = re.compile(r"^(?:[-*+•]|\d+[.)]|\(\w\))\s+")


def clean(text: str) -> str:
    """One line without markup."""
    for pattern, replacement in INLINE:
        text = pattern.sub(replacement, text)
    return " ".join(text.replace("\\", "").split())


def prose(lines: list[str]) -> str:
    """The sentences of a docstring's lines, up to its first section heading, as one line."""
    kept: list[str] = []
    literal = False  # inside an indented block after "::" or after a noisy line
    doctest = False  # up to the next blank line
    for number, line in enumerate(lines):
        if HEADING.match(line) or underlined(lines, number):
            break
        if not line.strip():
            doctest = False
            continue
        doctest = doctest or line.lstrip().startswith(">>>")
        if doctest or NOISE.match(line) or (literal and line[0] in " \t"):
            literal = True
            continue
        literal = line.rstrip().endswith("::")
        kept.append(ITEM.sub("", line.strip()[:-1] if literal else line.strip()))
    return clean(" ".join(kept))


def underlined(lines: list[str], number: int) -> bool:
    """Whether a line is a title: the next one is a rule of its length."""
    following = lines[number + 1].strip() if number + 1 < len(lines) else ""
    return len(following) > 2 and not following.strip("-=~^") and abs(len(following) - len(lines[number].strip())) < 3


# a docstring of a summary line, a blank line and more: files without one need not be parsed
WORTH_PARSING = re.compile(rb"(\"\"\"|''')\s*[^\n]+\n\s*\n")
Named = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
# no expression holds a definition, and most nodes are expressions
HOLDS_STATEMENTS = (ast.stmt, ast.ExceptHandler, ast.match_case)
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
            if isinstance(node, HOLDS_STATEMENTS):
                waiting.append((node, node.name if isinstance(node, Named) else inside))
    return sorted(found, key=lambda item: item[0].lineno)


SKIPPED_FOLDERS = {"tests", "test", "idle_test", "_vendor", "vendored", "node_modules", "__pycache__"}
SKIPPED_FOLDERS |= {"site-packages", "dist-packages"}  # those of another environment, inside a standard library
SUMMARY_WORDS = (3, 20)
BODY_WORDS = (8, 400)
OPENING_WORDS = 8
SHARED_BY_FEW = 20  # definitions: a name of more ("forward") says little, and would glue strangers together


class Found(NamedTuple):
    name: str
    title: str
    body: str
    summary: str


def reader(data: Docstrings) -> Reader:
    """The docstrings below `data.path`, or those of all installed packages and of Python itself."""
    roots = [Path(data.path)] if data.path else [*site_packages(), *standard_library()]
    for root in roots:
        if not root.is_dir():
            raise InputError(f"{root}: no such folder to harvest docstrings from")
    identity = files_identity(roots[0]) if data.path else packages_identity(roots)
    return Reader("docstrings", identity, {"train": lambda ledger: pairs(roots, ledger)})


def site_packages() -> list[Path]:
    names = ("site-packages", "dist-packages")
    return sorted({Path(entry).resolve() for entry in sys.path if Path(entry).name in names and Path(entry).is_dir()})


def standard_library() -> list[Path]:
    """Python's own modules, unless they are in an archive."""
    return [path for path in [Path(sysconfig.get_path("stdlib")).resolve()] if path.is_dir()]


def packages_identity(roots: list[Path]) -> dict[str, Any]:
    found = metadata.distributions(path=[str(root) for root in roots])
    packages = sorted({f"{one.name} {one.version}" for one in found})
    return {"kind": "docstrings", "python": platform.python_version(), "packages": packages}


def files_identity(root: Path) -> dict[str, Any]:
    sizes = [
        (path.relative_to(root).as_posix(), path.stat().st_size, path.stat().st_mtime_ns) for path in sources(root)
    ]
    return {"kind": "docstrings", "files": len(sizes), "hash": f"{stable_hash(repr(sizes)):016x}"}


def sources(root: Path) -> list[Path]:
    """The Python files below a folder, in order, without tests, vendored copies and this package."""
    kept = []
    for path in root.rglob("*.py"):
        parts = path.relative_to(root).parts
        if not SKIPPED_FOLDERS.intersection(parts[:-1]) and parts[0] != "bangbang" and path.is_file():
            kept.append(path)
    return sorted(kept)


def pairs(roots: list[Path], ledger: Ledger) -> Iterator[Pair]:
    """The distinct pairs in the order of their files. Only these few megabytes are held, to join them to families."""
    found = list(distinct(harvest(roots, ledger), ledger))
    for pair, family in zip(found, families(found), strict=True):
        yield Pair(f"{pair.title}: {pair.body}" if pair.title else pair.body, (pair.summary,), family)


def harvest(roots: list[Path], ledger: Ledger) -> Iterator[Found]:
    from bangbang.corpora.docstring_processes import read_side_by_side

    paths = [path for root in roots for path in sources(root)]
    for done, (found, drops) in enumerate(read_side_by_side(paths)):
        ledger.progress(done, len(paths))
        ledger.drops.update(drops)
        yield from found


def read(path: Path) -> tuple[list[Found], Counter[str]]:
    """The pairs of a file, and how many were dropped for what reason."""
    ledger = Ledger()
    split = ((one, split_docstring(one.docstring, ledger)) for one in documented(path, ledger))
    return [Found(one.name, one.title, *pair) for one, pair in split if pair], ledger.drops


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
        summary, body = stable_hash(normalised(pair.summary)), stable_hash(normalised(pair.body))
        if summary in summaries or body in bodies:
            ledger.drop("same summary or body as another")
        else:
            yield pair
        summaries.add(summary)
        bodies.add(body)


def families(found: list[Found]) -> list[str]:
    """The family of each pair, named after its first member's body: pairs that share a key belong together."""
    groups: dict[str, list[int]] = {}
    for place, pair in enumerate(found):
        for key in keys(pair):
            groups.setdefault(key, []).append(place)
    sets = UnionFind(len(found))
    for key, members in groups.items():
        if not key.startswith("name ") or len(members) <= SHARED_BY_FEW:
            sets.join(members)
    return [opening(found[sets.find(place)].body, OPENING_WORDS) for place in range(len(found))]


def keys(pair: Found) -> Iterator[str]:
    """What two pairs of a family share: how the body opens, or the name unless it is one of Python's own."""
    yield "opening " + opening(pair.body, OPENING_WORDS)
    name = normalised(identifier_words(pair.name))
    if name and not pair.name.startswith("__"):
        yield "name " + name
