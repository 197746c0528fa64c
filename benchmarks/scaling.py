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
from typing import TYPE_CHECKING, Any

from benchmarks import growth, processes

if TYPE_CHECKING:
    from rich.console import RenderableType

HELP = "how cost grows with batch, length, vocabulary; or several processes against one"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    growth.add_arguments(parser.add_argument_group("growth"))
    several = parser.add_argument_group("processes")
    several.add_argument("--processes", type=int, default=0, metavar="N", help="measure N processes against one")
    processes.add_arguments(several)


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    return processes.measure(arguments) if arguments.processes else growth.measure(arguments)


def table(result: dict[str, Any]) -> "RenderableType":
    return processes.table(result) if "processes" in result else growth.table(result)
