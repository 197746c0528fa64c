"""How fast real training runs are, turn by turn: examples per second of each config, and its cost against the first.

All runs are under way at once, and take turns of a few seconds; while one trains, the others are suspended. A round is
a turn of each, and medians over rounds are reported: `cost` is a run's seconds per example over the first run's. With
--init they begin with trained weights, so that SPG's samples are as long as they are when training has settled.

examples:
  bangbang bench training configs/headlines-debian.toml configs/headlines-debian-spg.toml
  bangbang bench training configs/captions-flickr8k.toml configs/captions-flickr8k-spg.toml \\
      --init runs/flickr8k --set data.corpus=FOLDER --json

--set changes all configs: a key that only some objectives have is set in a copy of their config.
"""

import argparse
import statistics
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bangbang.cli.numbers import whole
from benchmarks.paced_run import PacedRun, take_turns, turn_rate

if TYPE_CHECKING:
    from rich.console import RenderableType

HELP = "real training runs of several configs, turn by turn"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("configs", metavar="CONFIG", type=Path, nargs="+")
    parser.add_argument("--set", action="append", default=[], metavar="TABLE.KEY=VALUE", help="change a setting of all")
    parser.add_argument("--init", type=Path, metavar="RUN", help="begin with the best weights of this run")
    parser.add_argument("--rounds", type=whole(1), default=9, help="turns of each run (default 9)")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    import tempfile

    import torch

    from bangbang import config as configs
    from bangbang import consent
    from bangbang.data import prepare

    settings = [*arguments.set, *([f"training.init={arguments.init}"] if arguments.init else [])]
    for path in arguments.configs:
        config = configs.read(path, settings)
        prepare(config.data, config.vocabulary, consent=consent.for_config(path, settings))
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        runs = [
            stack.enter_context(PacedRun(path, settings, Path(folder) / str(number)))
            for number, path in enumerate(arguments.configs)
        ]
        turns, stolen = take_turns([run.turn for run in runs], arguments.rounds, "training by turns")
    rates = [[turn_rate(turn) for turn in each] for each in turns]
    return {
        "runs": [compared(path, [(each[0], each[n]) for each in rates]) for n, path in enumerate(arguments.configs)],
        "stolen": stolen,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }


def compared(config: Path, rounds: list[tuple[float, float]]) -> dict[str, Any]:
    """Of the examples per second of the first run and of this one, round by round."""
    costs = [first / own for first, own in rounds]
    return {
        "config": str(config),
        "examples_per_second": statistics.median(own for _, own in rounds),
        "cost": statistics.median(costs),
        "rounds": costs,
    }


def table(result: dict[str, Any]) -> "RenderableType":
    from rich.table import Table

    title = f"real training runs, turn by turn; {result['stolen']:.1%} of a core was taken by the host"
    grid = Table(title=title, title_justify="left")
    for name in ("config", "examples/s", "cost", "rounds"):
        grid.add_column(name, justify="right" if name in ("examples/s", "cost") else "left", overflow="fold")
    for row in result["runs"]:
        costs = " ".join(f"{cost:.2f}" for cost in row["rounds"])
        grid.add_row(row["config"], f"{row['examples_per_second']:.0f}", f"{row['cost']:.2f}×", costs)
    return grid
