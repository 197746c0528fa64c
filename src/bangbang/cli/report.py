"""Compare runs on their test split: who won, tables with error bars and significance, and a page to look at.

Each run's best checkpoint decodes the test split greedily, with and without DUP, and by the --decoders that are asked
for; the outcome is kept in RUN/test.json. Rows are named by objective as in the paper (MLE, RAML, PG, PG from MLE,
SPG 0.4), or by --label; runs that are equal but for the seed share a row. Every row is compared with MLE, MLE long and
RAML, where these are there: by the same decoder, and each by the decoder that validation likes best for it.

examples:
  bangbang report runs/mle runs/raml runs/spg
  bangbang report runs/mle-1 runs/mle-2 runs/spg-1 runs/spg-2 --out report
  bangbang report runs/mle runs/spg --decoders greedy beam mbr
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
    add_decoders(parser)
    parser.add_argument("--out", type=Path, default=Path("report"), metavar="FOLDER", help="default: report")
    parser.add_argument(
        "--cache", type=Path, metavar="FOLDER", help="where to make the runs' corpus again, if it is gone"
    )
    parser.add_argument("--title", default=TITLE, help="of the page")
    parser.add_argument("--json", action="store_true", help="print results.json instead of the tables")


def add_decoders(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--decoders",
        nargs="+",
        metavar="NAME",
        help="ways of decoding side by side: greedy, beam, mbr, and own, as a run's [decoding] says (default: greedy, "
        "and own where that is another)",
    )


def run(arguments: argparse.Namespace) -> int:
    from bangbang.folders import named

    runs = labelled([named(folder) for folder in arguments.run_folders], arguments.label)
    runs = [run._replace(cache=arguments.cache) for run in runs]
    show_report(runs, arguments.out, arguments.title, commands(runs, arguments), arguments)
    return 0


def show_report(
    runs: Sequence["LabelledRun"], out: Path, title: str, commands: Sequence[str], arguments: argparse.Namespace
) -> None:
    """Write a report with a progress bar, and print its tables, or with --json its results."""
    from bangbang.reporting import table
    from bangbang.terminal import Console

    results = report_with_progress(runs, out, title, commands, arguments.decoders)
    if arguments.json:
        print(results.json(), end="")
        return
    console = Console()
    console.print(table(results))
    console.print(f"\nthe page: {out / 'report.html'}", highlight=False, soft_wrap=True)


def labelled(folders: Sequence[Path], labels: Sequence[str] | None) -> list["LabelledRun"]:
    from bangbang.errors import InputError
    from bangbang.reporting import LabelledRun
    from bangbang.reporting.rows import label_runs

    if labels is None:
        return label_runs(folders)
    if len(labels) != len(folders):
        raise InputError(f"--label names {len(labels)} rows, but there are {len(folders)} runs; name one for each run")
    if not all(label.strip() for label in labels):
        raise InputError("--label: a name is empty; rows need names to be told apart")
    return [LabelledRun(folder, label) for folder, label in zip(folders, labels, strict=True)]


def report_with_progress(
    runs: Sequence["LabelledRun"], out: Path, title: str, commands: Sequence[str], decoders: Sequence[str] | None
) -> "Results":
    from rich.progress import Progress

    from bangbang.folders import named
    from bangbang.reporting import report
    from bangbang.reporting.evaluation import default_decoders, lines_to_decode
    from bangbang.reproduction import cores
    from bangbang.terminal import Console

    chosen = default_decoders(runs) if decoders is None else decoders
    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("decoding test splits", total=sum(lines_to_decode(run, chosen) for run in runs))
        return report(
            runs,
            named(out),
            title=title,
            commands=commands,
            decoders=chosen,
            jobs=cores(),
            progress=lambda lines: bar.advance(task, lines),
        )


def commands(runs: Sequence["LabelledRun"], arguments: argparse.Namespace) -> list[str]:
    """What makes these runs and this report again."""
    trainings = [["train", str(run.folder / "config.toml"), "--out", str(run.folder)] for run in runs]
    again = ["report", *(str(run.folder) for run in runs), "--out", str(arguments.out)]
    if arguments.label is not None:
        again += ["--label", *arguments.label]
    if arguments.decoders is not None:
        again += ["--decoders", *arguments.decoders]
    if arguments.title != TITLE:
        again += ["--title", arguments.title]
    return [shlex.join(["bangbang", *words]) for words in (*trainings, again)]
