"""The report as one HTML file that needs nothing else: no network, no script but its own."""

from collections.abc import Sequence
from dataclasses import replace
from importlib import resources

from bangbang.explanation.page import SCRIPTS, STYLES, fill
from bangbang.metrics import Metric
from bangbang.metrics.significance import p_text
from bangbang.reporting.examples import browser_record, dup_record, spg_figures
from bangbang.reporting.results import Results
from bangbang.reporting.rows import Group
from bangbang.reporting.verdict import verdict
from bangbang.tasks import title

FILES = resources.files("bangbang.reporting")
OWN_STYLES = [FILES / "page.css"]
NAMES = ("looks.js", "charts.js", "table.js", "curves.js", "browser.js", "readable.js", "page.js")
OWN_SCRIPTS = [FILES / name for name in NAMES]


CURVE_POINTS = 120


def page(results: Results, groups: Sequence[Group], metric: Metric) -> str:
    figures = spg_figures(results, groups)
    record = {
        "results": thinned(results).plain(),
        "names": {name: title(name) for name in (*results.scores, results.other)},
        "least_p": p_text(0, results.resamples),
        "answer": verdict(results)._asdict(),
        "dup": dup_record(groups, metric, results.main),
        "browser": browser_record(groups, metric, results.main),
        "figures": figures and {"label": figures.label, "targets": figures.targets, "trace": figures.trace},
    }
    drawings = figures.drawings if figures else ""
    return fill(FILES / "page.html", [*STYLES, *OWN_STYLES], [*SCRIPTS, *OWN_SCRIPTS], results.title, record, drawings)


def thinned(results: Results) -> Results:
    """The same with every k-th validation only, where a plot could not show, nor a page hold, so many.

    k is one number for all runs, so that seeds keep the same steps.
    """
    longest = max(len(run.validations) for row in results.rows for run in row.runs)
    every = -(-longest // CURVE_POINTS)
    return replace(
        results,
        rows=[
            replace(row, runs=[replace(run, validations=run.validations[every - 1 :: every]) for run in row.runs])
            for row in results.rows
        ],
    )
