"""An explanation as one HTML file that needs nothing else: no network, no script but its own."""

import html
import json
from collections.abc import Mapping
from importlib import resources
from typing import Any


def page(title: str, record: Mapping[str, Any], drawings: str = "") -> str:
    """The page of a record of `trace_record` or `targets_record`; `drawings` is SVG of ours, put in as it is."""
    files = resources.files("bangbang.explanation")
    parts = {
        "TITLE": html.escape(title),
        "STYLE": (files / "page.css").read_text("utf-8"),
        "SCRIPT": (files / "page.js").read_text("utf-8"),
        "DRAWINGS": drawings,
        # inside a script element only "<" could end it or open a comment
        "RECORD": json.dumps(record, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c"),
    }
    before, *pieces = (files / "page.html").read_text("utf-8").split("{{")
    text = [before]
    for piece in pieces:
        name, _, after = piece.partition("}}")
        text += [parts[name], after]
    return "".join(text)
