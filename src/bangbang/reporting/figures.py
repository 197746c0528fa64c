"""The paper's first two figures for the best SPG run: targets of every method, and one bang-bang target in detail."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from bangbang.explanation import Subject, Trace, draw_targets, trace
from bangbang.explanation.page import targets_record, trace_record
from bangbang.explanation.scatter import inline_svg
from bangbang.explanation.subject import Example, row_example
from bangbang.explanation.targets import Methods, bang_bang
from bangbang.reporting.results import Results
from bangbang.reporting.rows import Group
from bangbang.symbols import UNK
from bangbang.training import Run

WORDS = range(5, 11)  # of a reference that is neither trivial nor too long to look at
SOURCE_CHARACTERS = 300
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
    best = max(spg, key=lambda row: row.with_dup.scores[results.main].value)
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
        readable = len(ids) in WORDS and len(example.source) <= SOURCE_CHARACTERS
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
