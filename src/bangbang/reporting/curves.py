"""The learning curves as a picture for documents: validation scores against steps (the paper's third figure)."""

import io
from collections.abc import Sequence

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bangbang.reporting.results import Results, Row
from bangbang.tasks import title

# distinct for the colour-blind (Okabe and Ito), and by marker where there is no colour
COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F")
MARKERS = "^so*DvPX"


def curves(results: Results) -> str:
    """An SVG with a panel for the main score and one for the next; of several seeds the mean where all validated."""
    known = [name for name in results.scores if all(name in run_scores(row) for row in results.rows)]
    scores = sorted(known, key=lambda name: name != results.main)[:2]
    text = io.StringIO()
    # no date and no random names: the same results give the same file. A label's $ is a $
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": results.title, "text.parse_math": False}):
        figure = Figure(figsize=(5.2 * len(scores), 3.8), layout="constrained")
        for place, name in enumerate(scores, 1):
            draw(figure.add_subplot(1, len(scores), place), results.rows, name)
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()


def draw(axes: Axes, rows: Sequence[Row], score: str) -> None:
    for number, row in enumerate(rows):
        steps, values = mean_curve(row, score)
        marker, colour = MARKERS[number % len(MARKERS)], COLOURS[number % len(COLOURS)]
        (line,) = axes.plot(steps, values, marker=marker, color=colour, markersize=4, linewidth=1.4)
        line.set_label(legible(row.label))
    for step, labels in stage_starts(rows).items():
        axes.axvline(step, color="#7F7F7F", linewidth=0.6, zorder=0)
        top, text = axes.get_xaxis_transform(), f"{legible(labels)} "
        axes.text(step, 1, text, transform=top, rotation=90, ha="right", va="top", fontsize="x-small", color="#7F7F7F")
    axes.set_xlabel("training steps")
    axes.set_ylabel(f"validation {title(score)}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize="small")


def legible(name: str) -> str:
    """A name without half surrogate pairs, for which there is no letter; nor, at its start, what hides it."""
    text = name.encode("utf-8", "replace").decode("utf-8")
    return f" {text}" if text.startswith("_") else text  # matplotlib leaves such names out of the legend


def stage_starts(rows: Sequence[Row]) -> dict[int, str]:
    """The steps after which stages of any run begin, with the names of these stages; the first of a run is no mark."""
    found: dict[int, dict[str, None]] = {}
    for stage in (stage for row in rows for run in row.runs for stage in run.stages if stage.step > 0):
        found.setdefault(stage.step, {})[stage.label] = None
    return {step: ", ".join(labels) for step, labels in sorted(found.items())}


def mean_curve(row: Row, score: str) -> tuple[list[int], list[float]]:
    """Steps that all runs of the row validated at, and their mean score there."""
    found = [{point.step: point.scores[score] for point in run.validations} for run in row.runs]
    steps = sorted(set.intersection(*(set(each) for each in found)))
    return steps, [sum(each[step] for each in found) / len(found) for step in steps]


def run_scores(row: Row) -> set[str]:
    """The scores that every validation of the row's runs has."""
    every = [set(point.scores) for run in row.runs for point in run.validations]
    return set.intersection(*every) if every else set()
