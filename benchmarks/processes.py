"""Throughput of several one-thread processes against one, by real training runs that torchrun starts.

Each process takes batches of the config's size, so that N processes see N times as many examples a step. All runs are
under way at once and take turns of a few seconds: while one trains, the others are suspended. A round has turns of

- one process, on each of N cores, because those of a shared machine need not be equally fast; its rate is their mean;
- N processes that train together;
- N processes that train alone, at the same time: what the machine gives without any word between them, `independent`.

A round's speedup is the quotient of examples per second; medians over rounds are reported.

One process and N do not meet the same batches, and a batch of longer targets takes longer: over the first 150 steps of
the Debian config each of two processes has 5% more tokens than the one. So rates are told at the same mean length of a
target, by a straight line through the seconds of the intervals.

Needs as many idle cores as processes: those that wait for each other at every step lose what any core loses. `stolen`
is what a virtual machine's host took from its cores meanwhile, as a share of one core. The corpus is made first if it
is not there.
"""

import argparse
import statistics
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bangbang.cli.numbers import whole
from bangbang.errors import InputError
from benchmarks.paced_run import PacedRun, Rounds, Turn, take_turns, turn_at_once, turn_rate, usable_cores

if TYPE_CHECKING:
    from rich.console import RenderableType


def add_arguments(parser: argparse._ArgumentGroup) -> None:
    parser.add_argument("--config", type=Path, default=Path("configs/headlines-debian.toml"))
    parser.add_argument("--set", action="append", default=[], metavar="TABLE.KEY=VALUE", help="change a setting")
    parser.add_argument("--objectives", default="mle,bbspg", help="objective.kind of the runs (mle,bbspg)")
    parser.add_argument("--rounds", type=whole(1), default=7, help="of turns of all runs (default 7)")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    import tempfile

    import torch

    from bangbang import config as configs
    from bangbang import consent
    from bangbang.data import prepare

    if arguments.processes < 2:
        raise InputError("--processes must be at least 2")
    config = configs.read(arguments.config, arguments.set)
    prepare(config.data, config.vocabulary, consent=consent.for_config(arguments.config, arguments.set))
    result: dict[str, Any] = {"processes": arguments.processes, "torch": torch.__version__}
    with tempfile.TemporaryDirectory() as folder:
        for kind in arguments.objectives.split(","):
            result[kind] = speedup(measure_rounds(arguments, kind, Path(folder)))
    return result


def measure_rounds(arguments: argparse.Namespace, kind: str, folder: Path) -> Rounds:
    settings, count = [*arguments.set, f"objective.kind={kind}"], arguments.processes
    every = PacedRun(arguments.config, settings, folder / f"{kind}-all", count, threads=1)
    separate = [PacedRun(arguments.config, settings, folder / f"{kind}-{number}", threads=1) for number in range(count)]
    usable = usable_cores() or [None]
    cores = [usable[number % len(usable)] for number in range(count)]
    alone = [partial(separate[0].turn, core) for core in cores]
    with ExitStack() as stack:
        for run in (*separate, every):
            stack.enter_context(run)
        return take_turns([*alone, every.turn, partial(turn_at_once, separate, cores)], arguments.rounds, kind)


def speedup(measured: Rounds) -> dict[str, Any]:
    """By rounds of turns: those of one process on each core, of all together, and of all independently."""
    columns: list[tuple[Turn, ...]] = list(zip(*measured.turns, strict=True))
    (*by_core, together, independent), slope = at_one_length(*columns)
    one = [statistics.mean(rates) for rates in zip(*by_core, strict=True)]
    quotients = [many / few for few, many in zip(one, together, strict=True)]
    return {
        "speedup": statistics.median(quotients),
        "independent": statistics.median(many / few for few, many in zip(one, independent, strict=True)),
        "one": statistics.median(one),
        "all": statistics.median(together),
        "rounds": quotients,
        "cores": [statistics.median(rates) for rates in by_core],
        "lengths": {
            "one": statistics.mean(map(mean_length, columns[:-2])),
            "all": mean_length(columns[-2]),
            "cost_per_token": slope,
        },
        "stolen": measured.stolen,
    }


def mean_length(turns: Sequence[Turn]) -> float:
    return statistics.mean(pace.length for turn in turns for pace in turn)


def at_one_length(*runs: Sequence[Turn]) -> tuple[list[list[float]], float]:
    """Examples per second of each run's turns, as they would be at the mean length of all, and by which share of its
    seconds an example takes longer for each token more.

    seconds_i = s̄ (1 + b (length_i - l̄)) with each run's own means s̄ and l̄, and the same b in all; b is between 0 and
    that of seconds in proportion to length.
    """
    lengths, seconds = [], []  # relative to their run's means
    for turns in runs:
        paces, mean = [pace for turn in turns for pace in turn], mean_length(turns)
        typical = statistics.mean(1 / pace.rate for pace in paces)
        lengths += [pace.length - mean for pace in paces]
        seconds += [1 / pace.rate / typical - 1 for pace in paces]
    common = statistics.mean(mean_length(turns) for turns in runs)
    varied = sum(length * length for length in lengths)
    slope = sum(length * second for length, second in zip(lengths, seconds, strict=True)) / varied if varied else 0.0
    slope = min(max(slope, 0.0), 1 / max(mean_length(turns) for turns in runs))

    def rate(turn: Turn, mean: float) -> float:
        longer = 1 + slope * (common - mean)
        return turn_rate([pace._replace(rate=pace.rate * (1 + slope * (pace.length - mean)) / longer) for pace in turn])

    return [[rate(turn, mean_length(turns)) for turn in turns] for turns in runs], slope


def table(result: dict[str, Any]) -> "RenderableType":
    from rich.table import Table

    grid = Table(title=f"one process and {result['processes']}, one thread each", title_justify="left")
    for name in ("objective", "one: examples/s", "all: examples/s", "speedup", "independent", "stolen"):
        grid.add_column(name, justify="left" if name == "objective" else "right")
    for kind, row in result.items():
        if isinstance(row, dict):
            rates, quotients = (f"{row[key]:.0f}" for key in ("one", "all")), (row["speedup"], row["independent"])
            grid.add_row(kind, *rates, *(f"{quotient:.2f}" for quotient in quotients), f"{row['stolen']:.1%}")
    return grid
