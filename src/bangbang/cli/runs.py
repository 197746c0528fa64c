"""The run that a verb decodes with: one, or an ensemble of several."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from bangbang.errors import InputError

if TYPE_CHECKING:
    from bangbang.training import Run


def add_run_arguments(parser: argparse.ArgumentParser, several: str = "") -> None:
    """Run folders and how they become one; `several` says what else several runs are for."""
    told = f"a run folder; several with --ensemble{several}"
    parser.add_argument("runs", metavar="RUN", type=Path, nargs="+", help=told)
    parser.add_argument("--ensemble", action="store_true", help="decode with all runs as one model")
    parser.add_argument(
        "--average",
        choices=("probabilities", "log-probabilities"),
        default="probabilities",
        help="of an ensemble: what is averaged (default probabilities)",
    )


def open_runs(arguments: argparse.Namespace) -> "Run":
    """The run that is named, or with --ensemble all of them as one."""
    from bangbang.training import EnsembleRun, Run

    if arguments.ensemble:
        return EnsembleRun.of(arguments.runs, arguments.cache, arguments.average)
    if len(arguments.runs) > 1:
        raise InputError(f"{len(arguments.runs)} runs are named; add --ensemble to decode with all, or name one")
    return Run.open(arguments.runs[0], arguments.cache)
