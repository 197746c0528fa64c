"""Examples for the page: what DUP changed, where methods differ most, and the paper's first two figures.

Where methods differ, rows show their first seed. The figures are those of the best SPG run: targets of every method,
and one bang-bang target in detail.

Shapes: N examples.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import combinations, zip_longest
from typing import Any, NamedTuple, TypeVar

import numpy as np

from bangbang.explanation import Subject, Trace, draw_targets, trace
from bangbang.explanation.page import targets_record, trace_record
from bangbang.explanation.scatter import inline_svg
from bangbang.explanation.subject import Example, row_example
from bangbang.explanation.targets import Methods, bang_bang
from bangbang.metrics import Metric
from bangbang.metrics.metric import Array, lower_is_better
from bangbang.reporting.evaluation import Evaluation, Outputs
from bangbang.reporting.results import Results
from bangbang.reporting.rows import Group
from bangbang.symbols import UNK
from bangbang.training import Run

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
    record, sign = [], -1 if main in lower_is_better(metric) else 1
    for each in groups:
        found = [change for member in each.members for change in dup_changes(member, metric, main)]
        different = {(change.before, change.after): change for change in reversed(found)}.values()
        ranked = sorted(different, key=lambda change: -sign * change.gain)
        record.append(
            {
                "label": each.label,
                "outputs": sum(len(member.sources) for member in each.members),
                "changed": len(found),
                "better": sum(sign * change.gain > 0 for change in found),
                "worse": sum(sign * change.gain < 0 for change in found),
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
                "outputs": [first.written(row) for first in firsts],
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


WORDS = range(5, 11)  # of a reference that is neither trivial nor too long to look at
FIGURE_CHARACTERS = 300
SEARCHED = 500
SEEDS = range(1, 21)
SAMPLES = 100


class Figures(NamedTuple):
    label: str
    targets: dict[str, Any]
    trace: dict[str, Any]
    drawings: str
    """The plot of the targets, wide and narrow, as SVG."""


def spg_figures(results: Results, groups: Sequence[Group]) -> Figures | None:
    """Of the SPG row with the best test score; None where there is no such row, or no example to show."""
    spg = [row for row in results.rows if row.p_drop is not None]
    if not spg:
        return None
    best = max(spg, key=lambda row: results.sign * row.with_dup.scores[results.main].value)
    labelled = next(each.members[0].run for each in groups if each.label == best.label)
    run = Run.open(labelled.folder, labelled.cache)
    example = next(examples_to_show(run), None)
    if example is None:
        return None
    subject = Subject.of(run, example)
    # as at the end of training: the best checkpoint may be from before a late p_drop set in
    step = subject.leg.steps
    drawn = list(draw_targets(subject, Methods.of(subject.leg.objective, step), SAMPLES))
    drawings = inline_svg(drawn, "wide", 7.2, 5.4) + inline_svg(drawn, "narrow", 4.4, 4.6)
    return Figures(best.label, targets_record(subject, drawn, 1), telling_trace(subject, step), drawings)


def examples_to_show(run: Run) -> Iterator[Example]:
    """Training examples of a good length whose reference is known word by word, and repeats none."""
    split = run.corpus().split("train")
    for row in range(min(len(split), SEARCHED)):
        example = row_example(run, split, row)
        ids = run.vocabulary.encode(example.references[0])
        readable = len(ids) in WORDS and len(example.source) <= FIGURE_CHARACTERS
        if readable and UNK not in ids and len(set(ids)) == len(ids):
            yield example


def telling_trace(subject: Subject, step: int) -> dict[str, Any]:
    """The record of a trace where the reward, after the model's own words, wants another word than the reference's."""
    settings = bang_bang(subject.leg.objective, step)
    traces = ((seed, trace(subject, settings, seed)) for seed in SEEDS)
    first = next(traces)
    seed, found = next((each for each in (first, *traces) if is_telling(each[1])), first)
    return trace_record(subject, settings, found, seed)


def is_telling(found: Trace) -> bool:
    return any(step.in_loss and step.reference not in (None, step.token) for step in found.steps)
