"""The page as the server gives it out: one HTML, one style sheet, one script, made once."""

from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from bangbang.explanation import page
from bangbang.serving.questions import PICTURE_BYTES, TEXT_LETTERS

FILES = resources.files("bangbang.serving")
EXPLAINED = resources.files("bangbang.explanation")
# a trace is shown as `bangbang explain` shows it
STYLES = [EXPLAINED / "base.css", EXPLAINED / "trace.css", FILES / "page.css"]
SCRIPTS = [EXPLAINED / "base.js", EXPLAINED / "trace.js", FILES / "tokens.js", FILES / "page.js"]


def page_files(runs: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, bytes]]:
    """By path: the type and the content of each file."""
    record = {"runs": runs, "letters": TEXT_LETTERS, "bytes": PICTURE_BYTES}
    html = page.fill(FILES / "page.html", [], [], "What would it write?", record)
    return {
        "/": ("text/html", html.encode("utf-8", "replace")),
        "/page.css": ("text/css", b"".join(file.read_bytes() for file in STYLES)),
        "/page.js": ("text/javascript", b"".join(file.read_bytes() for file in SCRIPTS)),
    }
