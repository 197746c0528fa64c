"""Compare runs on their test split: a table with error bars and significance, and a page to look at.

Each run's best checkpoint decodes the test split greedily, with and without DUP; the outcome is kept in RUN/test.json.
Rows are named by objective as in the paper (MLE, RAML, PG, PG from MLE, SPG 0.4), or by --label; runs that are equal
but for the seed share a row. Every row is compared with MLE and RAML, where these are there.

examples:
  bangbang report runs/mle runs/raml runs/spg
  bangbang report runs/mle-1 runs/mle-2 runs/spg-1 runs/spg-2 --out report
  bangbang report runs/a runs/b --label MLE "SPG, my reward" --out report
  bangbang report runs/mle runs/spg --json
"""

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bangbang.reporting import LabelledRun, Results


TITLE = "Which training won?"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_folders", metavar="RUN", type=Path, nargs="+")
    parser.add_argument("--label", metavar="NAME", nargs="+", help="a name for each run; equal names share a row")
    parser.add_argument("--out", type=Path, default=Path("report"), metavar="FOLDER", help="default: report")
    parser.add_argument(
        "--cache", type=Path, metavar="FOLDER", help="where to make the runs' corpus again, if it is gone"
    )
    parser.add_argument("--title", default=TITLE, help="of the page")
    parser.add_argument("--json", action="store_true", help="print results.json instead of the table")


def run(arguments: argparse.Namespace) -> int:
    from bangbang.folders import named
    from bangbang.reporting import table
    from bangbang.terminal import Console

    runs = labelled([named(folder) for folder in arguments.run_folders], arguments.label)
    results = report_with_progress([run._replace(cache=arguments.cache) for run in runs], arguments)
    if arguments.json:
        print(results.json(), end="")
        return 0
    console = Console()
    console.print(table(results))
    console.print(f"\nthe page: {arguments.out / 'report.html'}", highlight=False, soft_wrap=True)
    return 0


def labelled(folders: Sequence[Path], labels: Sequence[str] | None) -> list["LabelledRun"]:
    from bangbang.errors import InputError
    from bangbang.reporting import LabelledRun
    from bangbang.reporting.rows import label_runs

    if labels is None:
        return label_runs(folders)
    if len(labels) != len(folders):
        raise InputError(f"--label names {len(labels)} rows, but there are {len(folders)} runs; name one for each run")
    return [LabelledRun(folder, label) for folder, label in zip(folders, labels, strict=True)]


def report_with_progress(runs: Sequence["LabelledRun"], arguments: argparse.Namespace) -> "Results":
    from rich.progress import Progress

    from bangbang.folders import named
    from bangbang.reporting import report
    from bangbang.reporting.evaluation import lines_to_decode
    from bangbang.terminal import Console

    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("decoding test splits", total=sum(map(lines_to_decode, runs)))
        return report(
            runs,
            named(arguments.out),
            title=arguments.title,
            commands=commands(runs, arguments),
            progress=lambda lines: bar.advance(task, lines),
        )


def commands(runs: Sequence["LabelledRun"], arguments: argparse.Namespace) -> list[str]:
    """What makes these runs and this report again."""
    trainings = [["train", str(run.folder / "config.toml"), "--out", str(run.folder)] for run in runs]
    again = ["report", *(str(run.folder) for run in runs), "--out", str(arguments.out)]
    if arguments.label is not None:
        again += ["--label", *arguments.label]
    if arguments.title != TITLE:
        again += ["--title", arguments.title]
    return [shlex.join(["bangbang", *words]) for words in (*trainings, again)]
