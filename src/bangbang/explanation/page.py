"""Explanations as plain values, which `--json` prints, and as one HTML file drawn from them.

The file needs nothing else: no network, no script but its own.
"""

import html
import json
import math
from collections.abc import Mapping, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from bangbang.explanation.scatter import LOOKS
from bangbang.explanation.subject import Subject
from bangbang.explanation.targets import Targets
from bangbang.explanation.trace import Trace
from bangbang.objectives import Sampling

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


def subject_record(subject: Subject, seed: int) -> dict[str, Any]:
    return {
        "run": str(subject.run.folder),
        "checkpoint": subject.checkpoint,
        "reward": [type(part).__name__ for part in subject.reward.parts],
        "seed": seed,
        "source": subject.source,
        "reference": subject.reference,
        "references": subject.references.shape[1] if subject.references.ndim == 3 else 1,
        "output": subject.output,
    }


def trace_record(subject: Subject, settings: Sampling, found: Trace, seed: int) -> dict[str, Any]:
    rules = settings.rules._asdict()
    weight = rules.pop("weight")
    return {
        **subject_record(subject, seed),
        "settings": {
            "p_drop": settings.p_drop,
            "reward_weight": "inf" if math.isinf(weight) else weight,  # JSON has no infinity
            "weight_by_reward": settings.weight_by_reward,
            **rules,
        },
        "target": {
            **found._replace(steps=[])._asdict(),
            "steps": [
                {**step._asdict(), "candidates": [each._asdict() for each in step.candidates]} for step in found.steps
            ],
        },
    }


def targets_record(subject: Subject, drawn: Sequence[Targets], seed: int) -> dict[str, Any]:
    return {
        **subject_record(subject, seed),
        "methods": [
            {
                "method": each.method,
                "name": LOOKS[each.method].name,
                "about": each.about,
                "samples": each.samples,
                "distinct": len(each.targets),
                "reward": each.mean("reward"),
                "log_p": each.mean("log_p"),
                "targets": [target._asdict() for target in each.targets],
            }
            for each in drawn
        ],
    }
