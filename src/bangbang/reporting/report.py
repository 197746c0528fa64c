"""A report on runs: evaluate what is not yet evaluated, compare, write results.json, curves.svg and report.html."""

import platform
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from bangbang import __version__
from bangbang.contracts import Task
from bangbang.errors import InputError
from bangbang.files import make_folder, write_whole
from bangbang.reporting.curves import curves
from bangbang.reporting.evaluation import LabelledRun, evaluate
from bangbang.reporting.page import page
from bangbang.reporting.results import Results
from bangbang.reporting.rows import Group, check_comparable, group, rows
from bangbang.tasks import RESAMPLING, signature
from bangbang.training import Run

RESULTS, CURVES, PAGE = "results.json", "curves.svg", "report.html"


def report(
    runs: Sequence[LabelledRun],
    out: Path,
    *,
    title: str,
    commands: Sequence[str],
    baseline: Sequence[str] = ("MLE", "RAML"),
    progress: Callable[[int], None] = lambda lines: None,
) -> Results:
    """Evaluate what is not yet evaluated, compare, and write OUT/results.json, OUT/curves.svg and OUT/report.html.

    `commands` are those that made it, for the page; rows are compared with those labelled as `baseline` says.
    """
    check_comparable(runs)
    evaluations = [evaluate(run, progress) for run in runs]
    groups = group(evaluations)
    task = Run.open(runs[0].folder).task
    results = results_of(groups, task, title, commands, baseline)
    content = {RESULTS: results.json(), CURVES: curves(results), PAGE: page(results, groups, task.metric)}
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
    metric = task.metric
    first, config = groups[0].members[0], groups[0].configs[0]
    opened = Run.open(first.run.folder)
    return Results(
        title=title,
        task=config.task.kind,
        caveat=opened.caveat,
        main=task.main,
        scores=list(metric.names),
        examples=len(first.sources),
        resamples=RESAMPLING.resamples,
        rows=rows(groups, metric, baselines),
        baselines=baselines,
        corpus={"name": config.data.corpus, "fingerprint": first.corpus},
        signature=signature(metric),
        versions={"bangbang": __version__, "torch": torch.__version__, "python": platform.python_version()},
        commands=list(commands),
    )
