"""The memory a training step needs beside parameters, gradients and optimiser state.

examples:
  bangbang bench memory
  bangbang bench memory --vocab 220000 --dim 512 --batch 200 --methods mle bbspg --json
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import step

if TYPE_CHECKING:
    from rich.console import RenderableType

HELP = "the memory of a step by SPG against MLE, PG and the naive way"
MEGABYTE = 2**20
SOURCES = (Path(__file__).parents[1], Path(__file__).parents[1] / "src")

add_arguments = step.add_arguments


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    result: dict[str, Any] = {name: {"extra_memory_mb": extra_megabytes(name, arguments)} for name in arguments.methods}
    return {**result, "shape": {key: getattr(arguments, key) for key in step.SHAPE}}


def extra_megabytes(name: str, arguments: argparse.Namespace) -> float:
    """The peak of a step of this method, in a process that does nothing else."""
    shape = json.dumps({key: getattr(arguments, key) for key in step.SHAPE})
    # by their own path: the current folder may have a package of the same name
    path = os.pathsep.join([*map(str, SOURCES), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-P", "-m", "benchmarks.memory", name, shape]
    environment = {**os.environ, "PYTHONPATH": path}
    return float(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)


def resident(entry: str) -> float:
    """Megabytes of this process: `VmRSS` now, `VmHWM` at most since it was last reset. Linux tells; others do not."""
    with Path("/proc/self/status").open(encoding="ascii") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith(entry))


def own_peak(name: Any, arguments: argparse.Namespace) -> float:
    from benchmarks.contenders import Contender

    contender = Contender(name, arguments)
    before = resident("VmRSS")  # parameters, and the program itself
    contender.step()
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    for _ in range(2):
        contender.step()
    parameters = list(contender.model.parameters())
    gradients = sum(parameter.numel() * parameter.element_size() for parameter in parameters)
    state = [entry for parameter in parameters for entry in contender.optimizer.state[parameter].values()]
    kept = sum(entry.numel() * entry.element_size() for entry in state if hasattr(entry, "numel"))
    return resident("VmHWM") - before - float(gradients + kept) / MEGABYTE


def table(result: dict[str, Any]) -> "RenderableType":
    from rich.table import Table

    grid = Table(title="memory beside parameters, gradients and optimiser state", title_justify="left")
    grid.add_column("method")
    grid.add_column("MB", justify="right")
    for name in step.METHODS:
        if name in result:
            grid.add_row(name, f"{result[name]['extra_memory_mb']:.0f}")
    return grid


if __name__ == "__main__":
    print(own_peak(sys.argv[1], argparse.Namespace(**json.loads(sys.argv[2]))))
