"""Throughput of several one-thread processes against one, by real training runs that torchrun starts.

Each process takes batches of the config's size, so that N processes see N times as many examples a step. Runs with one
and with N processes take turns; a round's speedup is the quotient of their examples per second, and the median over
rounds is reported. Needs as many idle cores as processes. The corpus is made first if it is not there.
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import RenderableType

LOG_EVERY = 5
WARM_UP = 2  # intervals of the log


def add_arguments(parser: argparse._ArgumentGroup) -> None:
    parser.add_argument("--config", type=Path, default=Path("configs/headlines-debian.toml"))
    parser.add_argument("--set", action="append", default=[], metavar="TABLE.KEY=VALUE", help="change a setting")
    parser.add_argument("--objectives", default="mle,bbspg", help="objective.kind of the runs (mle,bbspg)")
    parser.add_argument("--steps", type=int, default=60, help="of each run")
    parser.add_argument("--rounds", type=int, default=3)


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    import statistics
    import tempfile

    import torch

    from bangbang import config as configs
    from bangbang.data import prepare
    from bangbang.errors import InputError

    if arguments.processes < 2 or arguments.steps <= LOG_EVERY * WARM_UP:
        raise InputError(f"--processes must be at least 2 and --steps above {LOG_EVERY * WARM_UP}")
    config = configs.read(arguments.config, arguments.set)
    prepare(config.data, config.vocabulary, may_make=configs.may_make_corpus(config, arguments.config, arguments.set))
    result: dict[str, Any] = {"processes": arguments.processes, "torch": torch.__version__}
    with tempfile.TemporaryDirectory() as folder:
        for kind in arguments.objectives.split(","):
            rounds = [one_round(arguments, kind, Path(folder) / f"{kind}-{turn}") for turn in range(arguments.rounds)]
            result[kind] = {
                "speedup": statistics.median(many / one for one, many in rounds),
                "one": statistics.median(one for one, _ in rounds),
                "all": statistics.median(many for _, many in rounds),
                "rounds": [many / one for one, many in rounds],
            }
    return result


def one_round(arguments: argparse.Namespace, kind: str, folder: Path) -> tuple[float, float]:
    """Examples per second of one process and of all."""
    return throughput(arguments, kind, folder / "one", 1), throughput(
        arguments, kind, folder / "all", arguments.processes
    )


def throughput(arguments: argparse.Namespace, kind: str, run: Path, processes: int) -> float:
    """Examples per second of a training run in processes of one thread each, its first steps left out."""
    import json
    import os
    import statistics
    import subprocess
    import sys

    from bangbang.errors import InputError

    launch = (
        ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(processes)] if processes > 1 else []
    )
    settings = {
        "objective.kind": kind,
        "training.max_steps": arguments.steps,
        "training.validate_every": arguments.steps,
        "training.validation_examples": 8,
        "training.log_every": LOG_EVERY,
    }
    changes = [*arguments.set, *(f"{key}={value}" for key, value in settings.items())]
    command = [sys.executable, *launch, "-m", "bangbang", "train", str(arguments.config), "--out", str(run)]
    command += [part for change in changes for part in ("--set", change)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise InputError(f"a run of {processes} processes failed: {ended.stderr[-500:]}")
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text("utf-8").splitlines()]
    rates = [line["examples_per_second"] for line in lines if line["kind"] == "train"]
    return float(statistics.median(rates[WARM_UP:]))


def table(result: dict[str, Any]) -> "RenderableType":
    from rich.table import Table

    grid = Table(title=f"one process and {result['processes']}, one thread each", title_justify="left")
    for name in ("objective", "one: examples/s", "all: examples/s", "speedup"):
        grid.add_column(name, justify="left" if name == "objective" else "right")
    for kind, row in result.items():
        if isinstance(row, dict):
            grid.add_row(kind, f"{row['one']:.0f}", f"{row['all']:.0f}", f"{row['speedup']:.2f}")
    return grid
