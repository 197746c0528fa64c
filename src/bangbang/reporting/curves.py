"""The learning curves as pictures for documents: validation against steps (the paper's third figure) and minutes.

Steps and minutes include those of the run that a row started from, as far as that is known.
"""

import io
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any, NamedTuple

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bangbang.reporting.history import Before
from bangbang.reporting.results import Results, Row
from bangbang.tasks import shown, title

# distinct for the colour-blind (Okabe and Ito), and by marker where there is no colour
COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F")
MARKERS = "^so*DvPX"


class Panel(NamedTuple):
    score: str
    by_time: bool = False
    is_test: bool = False


def curves(results: Results) -> str:
    """An SVG: validation by the main score and the next, against steps; then the main one and the test's, by minutes.

    Of several seeds the mean, where all validated.
    """
    known = [name for name in results.scores if all(name in run_scores(row) for row in results.rows)]
    scores = sorted(known, key=lambda name: name != results.main)[:2]
    panels = [*map(Panel, scores), *(Panel(results.main, True, test) for test in (False, True))]

    def fill(figure: Figure) -> None:
        for place, panel in enumerate(panels, 1):
            draw(figure.add_subplot(-(-len(panels) // 2), 2, place), results.rows, panel)

    return drawn(results.title, (10.4, 3.8 * -(-len(panels) // 2)), fill)


def minutes(results: Results) -> str:
    """An SVG of one panel, small enough for a README: all rows' validation by minutes, best test score first."""
    main, sign = results.main, results.sign

    def fill(figure: Figure) -> None:
        axes = figure.add_subplot()
        draw(axes, results.rows, Panel(main, by_time=True))
        ends = [values[-1] for row in results.rows if (values := mean_curve(row, main)[1])]
        if ends and sign > 0:
            axes.set_ylim(bottom=max(ends) / 2)  # all begin with nothing; what counts is where they end
        lines, labels = axes.get_legend_handles_labels()
        scores = [row.with_dup.scores[main] for row in results.rows]
        order = sorted(range(len(scores)), key=lambda row: -sign * scores[row].value)
        told = [
            f"{shown(main, scores[row].value)} ±{shown(main, scores[row].standard_error)}  {labels[row]}"
            for row in order
        ]
        axes.legend([lines[row] for row in order], told, title=f"test {title(main)}, greedy", **BESIDE)

    return drawn(results.title, (8.8, 3.8), fill)


BESIDE: dict[str, Any] = {"frameon": False, "fontsize": "small", "loc": "center left", "bbox_to_anchor": (1.01, 0.5)}


def drawn(salt: str, size: tuple[float, float], fill: Callable[[Figure], None]) -> str:
    text = io.StringIO()
    # no date and no random names: the same results give the same file. A label's $ is a $
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": salt, "text.parse_math": False}):
        figure = Figure(figsize=size, layout="constrained")
        fill(figure)
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()


def draw(axes: Axes, rows: Sequence[Row], panel: Panel) -> None:
    for number, row in enumerate(rows):
        # after all colours were used once, they come again with other markers
        colour, marker = COLOURS[number % len(COLOURS)], MARKERS[(number + number // len(COLOURS)) % len(MARKERS)]
        if panel.is_test:
            score = row.with_dup.scores[panel.score]
            bar = axes.errorbar(
                [row.total("seconds") / 60], [score.value], [score.standard_error], fmt=marker, color=colour
            )
            bar.set_label(legible(row.label))
        else:
            places, values = mean_curve(row, panel.score, panel.by_time)
            (line,) = axes.plot(places, values, marker=marker, color=colour, markersize=4, linewidth=1.4)
            line.set_label(legible(row.label))
    for place, labels in ({} if panel.is_test else stage_starts(rows, panel.by_time)).items():
        axes.axvline(place, color="#7F7F7F", linewidth=0.6, zorder=0)
        top, text = axes.get_xaxis_transform(), f"{legible(labels)} "
        axes.text(place, 1, text, transform=top, rotation=90, ha="right", va="top", fontsize="x-small", color="#7F7F7F")
    axes.set_xlabel("minutes of training" if panel.by_time else "training steps")
    axes.set_ylabel(f"{'test' if panel.is_test else 'validation'} {title(panel.score)}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize="small")


def legible(name: str) -> str:
    """A name without half surrogate pairs, for which there is no letter; nor, at its start, what hides it."""
    text = name.encode("utf-8", "replace").decode("utf-8")
    return f" {text}" if text.startswith("_") else text  # matplotlib leaves such names out of the legend


def stage_starts(rows: Sequence[Row], by_time: bool = False) -> dict[float, str]:
    """Where stages of rows begin, in steps or minutes, with the names of these stages; the first is no mark."""
    found: dict[float, dict[str, None]] = {}
    for row in rows:
        for run in row.runs if not by_time else row.runs[:1]:
            before = run.before or Before()
            for stage in (stage for stage in run.stages if stage.step > 0):
                place = (before.seconds + stage.seconds) / 60 if by_time else before.steps + stage.step
                found.setdefault(place, {})[stage.label] = None
    return {place: ", ".join(labels) for place, labels in sorted(found.items())}


def mean_curve(row: Row, score: str, by_time: bool = False) -> tuple[list[float], list[float]]:
    """Steps, or minutes, at which all runs of the row validated, and their mean score there."""
    found = [{point.step: point for point in run.validations} for run in row.runs]
    before = [run.before or Before() for run in row.runs]
    steps = sorted(set.intersection(*(set(each) for each in found)))
    values = [fmean(each[step].scores[score] for each in found) for step in steps]
    if by_time:
        wait = fmean(each.seconds for each in before)
        return [(wait + fmean(each[step].seconds for each in found)) / 60 for step in steps], values
    return [fmean(each.steps for each in before) + step for step in steps], values


def run_scores(row: Row) -> set[str]:
    """The scores that every validation of the row's runs has."""
    every = [set(point.scores) for run in row.runs for point in run.validations]
    return set.intersection(*every) if every else set()
