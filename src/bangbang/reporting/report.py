"""A report on runs: evaluate what is not yet evaluated, compare, write results.json, two pictures and report.html."""

import platform
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from bangbang import __version__
from bangbang.contracts import Task
from bangbang.errors import InputError
from bangbang.files import check_folder, make_folder, write_whole
from bangbang.metrics.metric import lower_is_better
from bangbang.reporting.curves import curves, minutes
from bangbang.reporting.evaluation import (
    Evaluation,
    LabelledRun,
    default_decoders,
    other_metric,
    report_metric,
)
from bangbang.reporting.examples import evenly
from bangbang.reporting.likelihood import Judged, likelihoods, unjudged
from bangbang.reporting.page import page
from bangbang.reporting.results import Results, Sample
from bangbang.reporting.rows import Group, check_comparable, group, rows
from bangbang.reporting.several import evaluate_all
from bangbang.reporting.verdict import verdict
from bangbang.tasks import RESAMPLING, signature
from bangbang.training import Run

RESULTS, CURVES, MINUTES, PAGE = "results.json", "curves.svg", "minutes.svg", "report.html"
SAMPLES = 20  # examples whose outputs stand side by side


def report(
    runs: Sequence[LabelledRun],
    out: Path,
    *,
    title: str,
    commands: Sequence[str],
    baseline: Sequence[str] = ("MLE", "MLE long", "RAML"),
    decoders: Sequence[str] | None = None,
    jobs: int = 1,
    progress: Callable[[int], None] = lambda lines: None,
) -> Results:
    """Evaluate what is not yet evaluated, compare, and write results.json, curves.svg, minutes.svg and report.html.

    `commands` are those that made it, for the page; rows are compared with those labelled as `baseline` says. Without
    `decoders`, runs decode greedily, and in their own way where that is another; `jobs` of them side by side.
    """
    check_folder(out)  # before anything is decoded
    check_comparable(runs)
    decoders = default_decoders(runs) if decoders is None else decoders
    groups = group(evaluate_all(runs, decoders, jobs, progress))
    task = Run.open(runs[0].folder).task
    results = results_of(groups, task, title, commands, baseline)
    told = verdict(results)
    results = replace(results, answer=[told.headline, *told.sentences])
    content = {RESULTS: results.json(), CURVES: curves(results), MINUTES: minutes(results)}
    content[PAGE] = page(results, groups, report_metric(task))
    try:
        make_folder(out)
        for name, text in content.items():
            write_whole(out / name, text.encode("utf-8", "replace"))  # a run's name may be no text
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror}); choose another --out") from None
    return results


def results_of(
    groups: Sequence[Group], task: Task, title: str, commands: Sequence[str], baseline: Sequence[str]
) -> Results:
    labels = [each.label for each in groups]
    # where there is none of the baselines, the first row is the one to beat
    baselines = [label for label in baseline if label in labels] or labels[:1]
    metric = report_metric(task)
    first, config = groups[0].members[0], groups[0].configs[0]
    opened = Run.open(first.run.folder)
    judged = [Judged(*pair) for each in groups for pair in zip(each.members, each.configs, strict=True)]
    found = likelihoods(judged)
    return Results(
        title=title,
        answer=[],
        task=config.task.kind,
        caveat=opened.caveat,
        main=task.main,
        scores=list(task.metric.names),
        less=sorted(lower_is_better(metric)),
        other=other_metric(task).names[0],
        decoders=list(first.decoded),
        examples=len(first.sources),
        resamples=RESAMPLING.resamples,
        rows=rows(groups, metric, task.main, baselines, found),
        baselines=baselines,
        corpus={"name": config.data.corpus, "fingerprint": first.corpus},
        unjudged=unjudged(judged, found),
        samples=samples(groups),
        signature=signature_of(task, first),
        versions={"bangbang": __version__, "torch": torch.__version__, "python": platform.python_version()},
        commands=list(commands),
    )


def signature_of(task: Task, evaluation: Evaluation) -> str:
    """Of the task's scores, their error bars, and the score of another family."""
    other = other_metric(task)
    # sacrebleu names the number of references, once it has seen them
    other.statistics([""] * len(evaluation.references), evaluation.references)
    return f"{signature(task.metric)} {other.signature}"


def samples(groups: Sequence[Group]) -> list[Sample]:
    """Examples in equal steps over the test split, with what the first seed of every row wrote."""
    first = groups[0].members[0]
    return [
        Sample(
            row + 1,
            first.sources[row],
            first.references[row],
            {each.label: each.members[0].written(row) for each in groups},
        )
        for row in evenly(range(len(first.sources)), SAMPLES)
    ]
