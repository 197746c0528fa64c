"""An explanation as one HTML file that needs nothing else: no network, no script but its own."""

import html
import json
from collections.abc import Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

FILES = resources.files("bangbang.explanation")
# what shows a trace and targets, on this page and on others
STYLES = [FILES / "base.css", FILES / "trace.css", FILES / "targets.css"]
SCRIPTS = [FILES / "base.js", FILES / "trace.js", FILES / "targets.js"]


def page(title: str, record: Mapping[str, Any], drawings: str = "") -> str:
    """The page of a record of `trace_record` or `targets_record`; `drawings` is SVG of ours, put in as it is."""
    return fill(FILES / "page.html", STYLES, [*SCRIPTS, FILES / "page.js"], title, record, drawings)


def fill(
    template: Traversable,
    styles: list[Traversable],
    scripts: list[Traversable],
    title: str,
    record: Mapping[str, Any],
    drawings: str = "",
) -> str:
    """A template with everything in its place: styles, scripts, and the record that the scripts draw from."""
    parts = {
        "TITLE": html.escape(title),
        "STYLE": "".join(file.read_text("utf-8") for file in styles),
        "SCRIPT": "".join(file.read_text("utf-8") for file in scripts),
        "DRAWINGS": drawings,
        # inside a script element only "<" could end it or open a comment
        "RECORD": json.dumps(record, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c"),
    }
    before, *pieces = template.read_text("utf-8").split("{{")
    text = [before]
    for piece in pieces:
        name, _, after = piece.partition("}}")
        text += [parts[name], after]
    return "".join(text)
