"""Examples for the page: what DUP changed, and where methods differ most; for the latter, rows show their first seed.

Shapes: N examples.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import combinations, zip_longest
from typing import Any, NamedTuple, TypeVar

import numpy as np

from bangbang.metrics import Metric
from bangbang.metrics.metric import Array
from bangbang.reporting.evaluation import Evaluation, Outputs
from bangbang.reporting.rows import Group

T = TypeVar("T")
SOURCE_CHARACTERS = 400
DUP_EXAMPLES = 12
BROWSER_BYTES = 1_400_000


def example_scores(outputs: Outputs, metric: Metric, main: str) -> Array:
    """The main score of every output.  [N]"""
    return metric.per_example(outputs.statistics)[:, metric.names.index(main)]


class Change(NamedTuple):
    """An output that DUP made another."""

    number: int
    """Of the example, from 1."""
    before: str
    after: str
    reference: str
    gain: float
    """Of the main score."""


def dup_record(groups: Sequence[Group], metric: Metric, main: str) -> list[dict[str, Any]]:
    """For each row: how many outputs DUP changed, over all seeds, for better and worse, and some of them."""
    record = []
    for each in groups:
        found = [change for member in each.members for change in dup_changes(member, metric, main)]
        different = {(change.before, change.after): change for change in reversed(found)}.values()
        ranked = sorted(different, key=lambda change: -change.gain)
        record.append(
            {
                "label": each.label,
                "outputs": sum(len(member.sources) for member in each.members),
                "changed": len(found),
                "better": sum(change.gain > 0 for change in found),
                "worse": sum(change.gain < 0 for change in found),
                "examples": [change._asdict() for change in evenly(ranked, DUP_EXAMPLES)],
            }
        )
    return record


def dup_changes(evaluation: Evaluation, metric: Metric, main: str) -> Iterator[Change]:
    before, after = evaluation.without_dup, evaluation.with_dup
    gains = example_scores(after, metric, main) - example_scores(before, metric, main)
    for row, (was, now) in enumerate(zip(before.texts, after.texts, strict=True)):
        if was != now:
            yield Change(row + 1, was, now, evaluation.references[row][0], round(float(gains[row]), 4))


def evenly(ranked: Sequence[T], count: int) -> list[T]:
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
