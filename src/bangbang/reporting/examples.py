"""Examples for the page: what DUP changed, and where methods differ most. Rows of several seeds show their first.

Shapes: N examples.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import combinations, zip_longest
from typing import Any

import numpy as np

from bangbang.metrics import Metric
from bangbang.metrics.metric import Array
from bangbang.reporting.evaluation import Evaluation, Outputs
from bangbang.reporting.rows import Group

SOURCE_CHARACTERS = 400
DUP_EXAMPLES = 24
BROWSER_BYTES = 1_400_000


def example_scores(outputs: Outputs, metric: Metric, main: str) -> Array:
    """The main score of every output.  [N]"""
    return metric.per_example(outputs.statistics)[:, metric.names.index(main)]


def dup_record(groups: Sequence[Group], metric: Metric, main: str) -> list[dict[str, Any]]:
    """For each row: how many outputs DUP changed, for better and worse, and some of them."""
    return [{"label": each.label, **dup_changes(each.members[0], metric, main)} for each in groups]


def dup_changes(evaluation: Evaluation, metric: Metric, main: str) -> dict[str, Any]:
    before, after = evaluation.without_dup, evaluation.with_dup
    gains = example_scores(after, metric, main) - example_scores(before, metric, main)
    changed = [row for row, texts in enumerate(zip(before.texts, after.texts, strict=True)) if texts[0] != texts[1]]
    return {
        "changed": len(changed),
        "better": sum(bool(gains[row] > 0) for row in changed),
        "worse": sum(bool(gains[row] < 0) for row in changed),
        "examples": [
            {
                "number": row + 1,
                "before": before.texts[row],
                "after": after.texts[row],
                "reference": evaluation.references[row][0],
                "gain": round(float(gains[row]), 4),
            }
            for row in evenly(sorted(changed, key=lambda row: -gains[row]), DUP_EXAMPLES)
        ],
    }


def evenly(ranked: Sequence[int], count: int) -> list[int]:
    """`count` of a ranking, from its first to its last in equal steps, so that the choice flatters nobody."""
    if len(ranked) <= count:
        return list(ranked)
    return [ranked[round(place * (len(ranked) - 1) / (count - 1))] for place in range(count)]


def browser_record(groups: Sequence[Group], metric: Metric, main: str) -> dict[str, Any]:
    """The examples in which methods differ most, as many as a page can hold."""
    firsts = [each.members[0] for each in groups]
    scores = np.stack([example_scores(first.with_dup, metric, main) for first in firsts])  # [labels, N]
    examples: list[dict[str, Any]] = []
    size = 0
    for row in telling(scores):
        examples.append(
            {
                "number": row + 1,
                "source": shortened(firsts[0].sources[row]),
                "references": firsts[0].references[row],
                "outputs": [first.with_dup.texts[row] for first in firsts],
                "scores": [round(float(score), 4) for score in scores[:, row]],
            }
        )
        size += len(json.dumps(examples[-1], ensure_ascii=False).encode())
        if size > BROWSER_BYTES:
            break
    return {"labels": [each.label for each in groups], "total": scores.shape[1], "examples": examples}


def telling(scores: Array) -> Iterator[int]:
    """All examples, first those that tell most: in turns, of every two methods, the largest difference either way."""
    rankings = []
    for first, second in combinations(range(len(scores)), 2):
        difference = scores[first] - scores[second]
        rankings += [np.argsort(-difference, kind="stable"), np.argsort(difference, kind="stable")]
    seen: set[int] = set()
    for turn in zip_longest(*(rankings or [np.argsort(-scores[0], kind="stable")])):
        for row in map(int, turn):
            if row not in seen:
                seen.add(row)
                yield row


def shortened(source: str) -> str:
    return source if len(source) <= SOURCE_CHARACTERS else source[: SOURCE_CHARACTERS - 1].rstrip() + "…"
