"""How the cost of a step grows with batch, length and vocabulary; or, with --processes, what more processes bring.

One size is changed at a time, the others stay: each point is a training step by maximum likelihood and by bang-bang SPG
on the same random batch, turn by turn, and what counts is seconds per decoded position and their ratio.

With --processes N, real training runs of one process and of N, one thread each, take turns, started by torchrun; their
quotient of examples per second, at the same length of targets, is the speedup. Beside it stands what N processes reach
that have nothing to do with each other, the most that the machine gives. Needs as many idle cores as processes.

examples:
  bangbang bench scaling --plot growth.png
  bangbang bench scaling --vocabs 10000 50000 220000 --dim 512 --batches --lengths --json
  bangbang bench scaling --processes 2 --json
  bangbang bench scaling --processes 2 --config configs/headlines-docstrings.toml --objectives mle --rounds 5
"""

import argparse
import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bangbang.cli.numbers import whole
from benchmarks import processes, step

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import RenderableType

HELP = "how cost grows with batch, length, vocabulary; or several processes against one"
METHODS = ("mle", "bbspg")
AXES = {"batch": "rows of a batch", "length": "mean tokens of a reference", "vocab": "vocabulary"}
LONGEST = 2  # a sequence may have so many times the mean length


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_growth_arguments(parser.add_argument_group("growth"))
    several = parser.add_argument_group("processes")
    several.add_argument("--processes", type=whole(), default=0, metavar="N", help="measure N processes against one")
    processes.add_arguments(several)


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    return processes.measure(arguments) if arguments.processes else measure_growth(arguments)


def table(result: dict[str, Any]) -> "RenderableType":
    return processes.table(result) if "processes" in result else growth_table(result)


def add_growth_arguments(parser: argparse._ArgumentGroup) -> None:
    parser.add_argument("--batches", type=whole(1), nargs="*", default=[16, 32, 64, 128])
    parser.add_argument("--lengths", type=whole(2), nargs="*", default=[4, 8, 16])
    parser.add_argument("--vocabs", type=whole(16), nargs="*", default=[5_000, 10_000, 20_000, 40_000])
    parser.add_argument("--batch", type=whole(1), default=64, help="where another size changes; likewise:")
    parser.add_argument("--length", type=whole(2), default=8)
    parser.add_argument("--vocab", type=whole(16), default=10_000)
    parser.add_argument("--dim", type=whole(1), default=256)
    parser.add_argument("--p-drop", type=float, default=0.4)
    parser.add_argument("--repeats", type=whole(1), default=5)
    parser.add_argument("--seed", type=whole(), default=1)
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the curves (.png, .svg or .pdf)")


def measure_growth(arguments: argparse.Namespace) -> dict[str, Any]:
    import torch
    from rich.console import Console
    from rich.progress import Progress

    from bangbang.files import write_output

    points = [(axis, value) for axis in AXES for value in values_of(arguments, axis)]
    result: dict[str, Any] = {axis: [] for axis in AXES}
    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        for axis, value in progress.track(points, description="steps of growing size"):
            result[axis].append({"value": value, **point(arguments, axis, value)})
    result |= {"base": {key: getattr(arguments, key) for key in (*AXES, "dim", "p_drop", "repeats", "seed")}}
    result |= {"threads": torch.get_num_threads(), "torch": torch.__version__}
    if arguments.plot:
        stream = io.BytesIO()
        draw(result).savefig(stream, format=arguments.plot.suffix[1:] or "png", dpi=150)
        write_output(arguments.plot, stream.getvalue())
    return result


def values_of(arguments: argparse.Namespace, axis: str) -> list[int]:
    option = {"batch": "batches", "length": "lengths", "vocab": "vocabs"}[axis]
    return sorted(set(getattr(arguments, option)))


def point(arguments: argparse.Namespace, axis: str, value: int) -> dict[str, Any]:
    """Both methods' costs where one size has another value than the rest."""
    parser = argparse.ArgumentParser()
    step.add_arguments(parser)
    shape = parser.parse_args(["--no-memory", "--methods", *METHODS])
    size = {**{name: getattr(arguments, name) for name in AXES}, axis: value}
    shape.vocab, shape.batch, shape.mean_length = size["vocab"], size["batch"], float(size["length"])
    shape.max_length, shape.lengths = LONGEST * size["length"], "settled"
    shape.dim, shape.p_drop, shape.repeats, shape.seed = (
        getattr(arguments, name) for name in ("dim", "p_drop", "repeats", "seed")
    )
    measured = step.measure(shape)
    return {name: measured[name] for name in METHODS}


def draw(result: dict[str, Any]) -> "Figure":
    from matplotlib.figure import Figure

    shown = [axis for axis in AXES if result[axis]]
    figure = Figure(figsize=(4 * max(1, len(shown)), 3.4), layout="constrained")
    for place, axis in enumerate(shown, 1):
        axes = figure.add_subplot(1, len(shown), place)
        values = [row["value"] for row in result[axis]]
        for name in METHODS:
            costs = [1e6 * row[name]["seconds_per_position"] for row in result[axis]]
            axes.plot(values, costs, marker="o", label={"mle": "MLE", "bbspg": "bang-bang SPG"}[name])
        axes.set_xscale("log", base=2)
        axes.set_xticks(values, [f"{value:,}" for value in values])
        axes.set_ylim(bottom=0)
        axes.set_xlabel(AXES[axis])
        axes.set_ylabel("µs per decoded position")
        axes.legend(frameon=False)
    return figure


def growth_table(result: dict[str, Any]) -> "RenderableType":
    from rich.table import Table

    base = result["base"]
    title = ", ".join(f"{name} {base[name]:,}" for name in (*AXES, "dim")) + " where not said otherwise"
    grid = Table(title=title, title_justify="left")
    for name in ("changed", "MLE µs/position", "SPG µs/position", "ratio"):
        grid.add_column(name, justify="left" if name == "changed" else "right")
    for axis in AXES:
        for row in result[axis]:
            mle, spg = (1e6 * row[name]["seconds_per_position"] for name in METHODS)
            grid.add_row(f"{axis} {row['value']:,}", f"{mle:.0f}", f"{spg:.0f}", f"{spg / mle:.2f}×")
    return grid
