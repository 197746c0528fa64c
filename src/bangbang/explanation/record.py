"""Explanations as plain values: what `--json` prints, and what the page is drawn from."""

import math
from collections.abc import Sequence
from typing import Any

from bangbang.explanation.scatter import LOOKS
from bangbang.explanation.subject import Subject
from bangbang.explanation.targets import Targets
from bangbang.explanation.trace import Trace
from bangbang.objectives import Sampling


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
