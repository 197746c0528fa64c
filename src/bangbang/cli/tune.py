"""Find the best way of decoding for a run by its validation split, and write it into the run's config.

examples:
  bangbang tune runs/debian
  bangbang tune runs/debian --metric rouge-2 --limit 500 --dry-run
  bangbang tune runs/debian --beams 1 4 16 --length-penalties 0.8 1.0 --mbr 32 64 --temperatures 0.5 0.7
  bangbang tune runs/debian --mbr                        no minimum Bayes risk
  bangbang tune runs/debian --json

Greedy, beams with length penalties, and minimum Bayes risk with several temperatures and numbers of samples are tried,
on validation rows alone. The best becomes [decoding] of RUN/config.toml, which other verbs go by; there beams and
minimum Bayes risk get their best settings, whichever of them is best. RUN/tuned.json says what was tried. A training
that is resumed goes on with the validations that it began with. Of an --ensemble, nothing is written.
"""

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bangbang.cli.numbers import seed, whole
from bangbang.cli.runs import add_run_arguments, open_runs
from bangbang.cli.streams import print_json

if TYPE_CHECKING:
    from rich.console import RenderableType

    from bangbang.data import Split
    from bangbang.decoding.exploration import Grid
    from bangbang.decoding.settings import DecodingSettings
    from bangbang.training import Run
    from bangbang.training.tuning import Trial


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run_arguments(parser)
    tried = parser.add_argument_group("what is tried; a list without numbers leaves it out")
    tried.add_argument("--beams", type=int, nargs="*", metavar="K", help="beam sizes; 1 is greedy (1 2 4 8)")
    tried.add_argument(
        "--length-penalties", dest="penalties", type=float, nargs="+", metavar="A", help="of beams (0.6 0.8 1.0 1.2)"
    )
    tried.add_argument("--mbr", dest="samples", type=int, nargs="*", metavar="N", help="numbers of samples (16 32)")
    tried.add_argument("--temperatures", type=float, nargs="+", metavar="T", help="of samples (0.4 0.6 0.8 1.0)")
    parser.add_argument("--utility", metavar="NAME", help="what minimum Bayes risk goes by (the task's main score)")
    parser.add_argument("--metric", metavar="NAME", help="the score that decides (the task's main one)")
    parser.add_argument("--limit", type=whole(), default=0, metavar="N", help="only the first N rows of the split")
    parser.add_argument("--checkpoint", default="best", metavar="C", help="best (default), last, or a step number")
    parser.add_argument("--seed", type=seed, default=1, help="of samples (default 1)")
    parser.add_argument("--batch-size", type=int, metavar="B", help="lines decoded together")
    parser.add_argument(
        "--cache", type=Path, metavar="FOLDER", help="where to make the run's corpus again, if it is gone"
    )
    parser.add_argument("--dry-run", action="store_true", help="write nothing")
    parser.add_argument("--json", action="store_true", help="print what was tried as JSON")


def run(arguments: argparse.Namespace) -> int:
    from contextlib import nullcontext
    from dataclasses import asdict

    from bangbang.decoding.exploration import Grid
    from bangbang.decoding.settings import describe
    from bangbang.folders import named, refuse_links
    from bangbang.locks import locked
    from bangbang.training.tuning import CONFIG, SPLIT, TUNED, chosen, keep

    arguments.runs = [named(folder) for folder in arguments.runs]
    opened = open_runs(arguments)
    arguments.dry_run |= arguments.ensemble  # no run's config is that of an ensemble
    refuse_links(opened.folder, CONFIG, TUNED)
    before, split = opened.config.decoding, opened.corpus().split(SPLIT)
    options = {name: getattr(arguments, name) for name in Grid._fields}
    grid = Grid(**{name: values for name, values in options.items() if values is not None})
    with locked(opened.folder) if not arguments.dry_run else nullcontext():
        record, trials = trials_of(opened, split, grid, arguments)
        decoding = chosen(trials, before)
        record |= {"before": describe(before), "chosen": describe(trials[0].decoding)}
        record |= {"decoding": asdict(decoding), "written": not arguments.dry_run}
        record["tried"] = [trial.plain() for trial in trials]
        if not arguments.dry_run:
            keep(opened, decoding, record)
    if arguments.json:
        print_json(record, indent=1)
        return 0
    from bangbang.terminal import Console

    console = Console()
    console.print(table(record))
    place = "nothing is written" if arguments.dry_run else f"written into {opened.folder / CONFIG}"
    console.print(f"{record['chosen']}, before {record['before']}: {place}", highlight=False, soft_wrap=True)
    return 0


def trials_of(
    opened: "Run", split: "Split", grid: "Grid", arguments: argparse.Namespace
) -> tuple[dict[str, Any], list["Trial"]]:
    """What the trials were made with, and the trials, with a progress bar."""
    from rich.progress import Progress

    from bangbang.terminal import Console
    from bangbang.training.tuning import SPLIT, tune

    metric = arguments.metric or opened.task.main
    rows = min(arguments.limit or len(split), len(split))
    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("decoding validation rows in every way", total=rows)
        base, done = base_of(opened, arguments), partial(progress.advance, task)
        checkpoint, random = arguments.checkpoint, arguments.seed
        trials = tune(opened, split, base, grid, metric, checkpoint, arguments.limit, random, done)
    record = {
        "run": " + ".join(map(str, arguments.runs)),
        "checkpoint": opened.checkpoint_name(arguments.checkpoint),
        "split": SPLIT,
        "examples": rows,
        "corpus": opened.corpus_facts.get("fingerprint"),
        "seed": arguments.seed,
        "metric": metric,
        "signature": opened.task.metric.signature,
    }
    return record, trials


def base_of(opened: "Run", arguments: argparse.Namespace) -> "DecodingSettings":
    """The run's settings, which the trials change."""
    from dataclasses import replace

    given = {"utility": arguments.utility, "batch_size": arguments.batch_size}
    return replace(opened.config.decoding, **{name: value for name, value in given.items() if value is not None})


def table(record: dict[str, Any]) -> "RenderableType":
    """What was tried, best first."""
    from rich.table import Table
    from rich.text import Text

    from bangbang.tasks import shown

    title = f"{record['run']}, {record['checkpoint']}: {record['split']}, {record['examples']:,} examples"
    grid = Table(title=Text(f"{title}, best {record['metric']} first", "table.title"), title_justify="left")
    scores = sorted(record["tried"][0]["scores"], key=lambda score: score != record["metric"])
    grid.add_column("")
    for score in scores:
        grid.add_column(Text(score), justify="right")
    for trial in record["tried"]:
        grid.add_row(Text(trial["name"]), *(Text(shown(score, trial["scores"][score])) for score in scores))
    return grid
