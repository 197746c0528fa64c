"""Throughput of several one-thread processes against one, by real training runs that torchrun starts.

Each process takes batches of the config's size, so that N processes see N times as many examples a step. A run with one
process and one with N are both under way and take turns of a few seconds: while one trains, the other is suspended. A
round is a turn of each; its speedup is the quotient of their examples per second, and the median over rounds is
reported. Needs as many idle cores as processes: those that wait for each other at every step lose what any core loses.
`stolen` is what a virtual machine's host took from its cores meanwhile, as a share of one core. The corpus is made
first if it is not there.
"""

import argparse
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bangbang.bench.paced_run import PacedRun, Rounds, take_turns
from bangbang.errors import InputError

if TYPE_CHECKING:
    from rich.console import RenderableType


def add_arguments(parser: argparse._ArgumentGroup) -> None:
    parser.add_argument("--config", type=Path, default=Path("configs/headlines-debian.toml"))
    parser.add_argument("--set", action="append", default=[], metavar="TABLE.KEY=VALUE", help="change a setting")
    parser.add_argument("--objectives", default="mle,bbspg", help="objective.kind of the runs (mle,bbspg)")
    parser.add_argument("--rounds", type=int, default=9, help="turns of each run")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    import tempfile

    import torch

    from bangbang import config as configs
    from bangbang.data import prepare

    if arguments.processes < 2 or arguments.rounds < 1:
        raise InputError("--processes must be at least 2 and --rounds at least 1")
    config = configs.read(arguments.config, arguments.set)
    prepare(config.data, config.vocabulary, may_make=configs.may_make_corpus(config, arguments.config, arguments.set))
    result: dict[str, Any] = {"processes": arguments.processes, "torch": torch.__version__}
    with tempfile.TemporaryDirectory() as folder:
        for kind in arguments.objectives.split(","):
            settings, runs = [*arguments.set, f"objective.kind={kind}"], Path(folder)
            with (
                PacedRun(arguments.config, settings, runs / f"{kind}-one", 1, threads=1) as one,
                PacedRun(arguments.config, settings, runs / f"{kind}-all", arguments.processes, threads=1) as every,
            ):
                result[kind] = speedup(take_turns((one, every), arguments.rounds, kind))
    return result


def speedup(measured: Rounds) -> dict[str, Any]:
    """By rounds of one process and all."""
    return {
        "speedup": statistics.median(many / one for one, many in measured.rates),
        "one": statistics.median(one for one, _ in measured.rates),
        "all": statistics.median(many for _, many in measured.rates),
        "rounds": [many / one for one, many in measured.rates],
        "stolen": measured.stolen,
    }


def table(result: dict[str, Any]) -> "RenderableType":
    from rich.table import Table

    grid = Table(title=f"one process and {result['processes']}, one thread each", title_justify="left")
    for name in ("objective", "one: examples/s", "all: examples/s", "speedup", "stolen"):
        grid.add_column(name, justify="left" if name == "objective" else "right")
    for kind, row in result.items():
        if isinstance(row, dict):
            grid.add_row(
                kind, f"{row['one']:.0f}", f"{row['all']:.0f}", f"{row['speedup']:.2f}", f"{row['stolen']:.1%}"
            )
    return grid
