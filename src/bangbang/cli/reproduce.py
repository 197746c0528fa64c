"""Train many methods on the same data with the same budget, compare them on test data, write a report.

--methods paper: MLE, RAML, PG from a cold start and from MLE, bang-bang SPG at p_drop 0.2, 0.4, 0.6, 0.8, and what we
changed in it. --methods field: MLE, the methods of others, and schedules that end in a policy gradient, beside MLE with
as many minutes as the longest of them. Validation chooses each checkpoint. Trainings run side by side, one thread each.
Ctrl-C at any time: the same command goes on, and skips what is done.

examples:
  bangbang reproduce headlines --dry-run                          the plan: rows, steps, commands
  bangbang reproduce headlines                                    docstrings, small: under half an hour on 2 cores
  bangbang reproduce headlines --corpus debian --budget medium --methods field --seeds 1 2 3
  bangbang reproduce headlines --corpus my-pairs.jsonl --methods mle spg-0.4 --set model.units=192
  bangbang reproduce captions                                     drawn shapes
  bangbang reproduce captions --corpus FOLDER --set data.features=FEATURES --budget medium
  bangbang reproduce transduction --corpus FOLDER --languages dut fre --seeds 1 2 3      one table of all languages

OUT gets config.toml (what all runs share), runs/, logs/, results.json and report.html. Of several languages each has
that in OUT/LANGUAGE, and OUT gets languages.json, .md and .html. docs/reproduce.md says more.
"""

import argparse
import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bangbang.cli.changes import add_changes
from bangbang.cli.numbers import seed, whole
from bangbang.cli.report import add_decoders, report_with_progress, show_report
from bangbang.cli.streams import print_json
from bangbang.reproduction.budgets import BUDGETS, tasks

if TYPE_CHECKING:
    from bangbang.reporting import LabelledRun
    from bangbang.reproduction import Plan

INTERRUPTED = 130
# what rows differ in cannot be the same for all of them
CHOSEN_BY = {"training.seed": "--seeds", "objective.kind": "--methods"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", choices=tasks())
    parser.add_argument(
        "--corpus", default="", help="docstrings, debian, shapes, or a PATH (default: the budget's own)"
    )
    parser.add_argument(
        "--languages", nargs="+", default=[], metavar="NAME", help="of a folder of several, such as dut_train.tsv (all)"
    )
    parser.add_argument("--seeds", type=seed, nargs="+", default=[1], metavar="N", help="default 1")
    parser.add_argument("--budget", choices=BUDGETS, default="small", help="default small")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="default runs/TASK-CORPUS-BUDGET")
    parser.add_argument("--jobs", type=whole(1), metavar="N", help="trainings at a time (default: one for each core)")
    parser.add_argument(
        "--methods", nargs="+", default=[], metavar="NAME", help="paper (default), field, all, or rows by name"
    )
    add_decoders(parser)
    add_changes(parser, "change a setting of all runs")
    parser.add_argument("--tune", action="store_true", help="choose each run's decoder by validation, before testing")
    parser.add_argument("--brief", action="store_true", help="print one short table and ten outputs instead of all")
    parser.add_argument("--dry-run", action="store_true", help="print the plan, train nothing")
    parser.add_argument("--json", action="store_true", help="print results.json instead of the tables")


def run(arguments: argparse.Namespace) -> int:
    from bangbang.locks import locked

    check(arguments)
    if found := languages(arguments):
        from bangbang.cli.languages import run_languages
        from bangbang.errors import InputError

        if arguments.tune or arguments.brief:
            raise InputError(
                "--tune and --brief are for a corpus of one language; choose it by --set data.language=NAME"
            )
        return run_languages(found, arguments)
    plan, jobs = planned(arguments)
    if arguments.dry_run:
        show_plan(plan, jobs, arguments.json)
        return 0
    with locked(plan.out):
        done, code = carry_out(plan, jobs, arguments)
        if done and done.runs:
            if arguments.tune:
                tune(done, jobs)
            show_results(*done, arguments)
        return code


def check(arguments: argparse.Namespace) -> None:
    """An InputError for what would be told after the trainings, or never."""
    from bangbang.errors import InputError
    from bangbang.reporting.evaluation import check_decoders

    check_decoders(arguments.decoders or ())
    for setting in arguments.set:
        if option := CHOSEN_BY.get(setting.partition("=")[0].strip()):
            raise InputError(f"--set {setting}: is chosen by {option}, for each row")
    if arguments.out and (arguments.out / "checkpoints").exists():
        raise InputError(f"{arguments.out}: is a run; choose another --out, in which runs/ will be")


def tune(done: "Done", jobs: int) -> None:
    from bangbang.reproduction.tuning import tune_runs
    from bangbang.terminal import Console

    with Console(stderr=True).status("choosing decoders by validation"):
        tune_runs([run.folder for run in done.runs], done.plan.out / "logs", jobs)


def languages(arguments: argparse.Namespace) -> list[str]:
    """Those that are asked for, or all that the corpus has; none where it is not one of several."""
    from bangbang.errors import InputError
    from bangbang.reproduction import read_budget

    config = read_budget(arguments.task, arguments.corpus, arguments.budget, arguments.set)
    for name in arguments.languages:
        if Path(name).name != name:
            raise InputError(f"--languages {name}: a language is a name, such as dut for dut_train.tsv")
    return arguments.languages or config.data.languages()


def planned(arguments: argparse.Namespace, language: str = "") -> tuple["Plan", int]:
    from bangbang.folders import named
    from bangbang.reproduction import cores, default_methods, make_plan, read_budget

    chosen = [f"data.language={json.dumps(language)}"] if language else []
    config = read_budget(arguments.task, arguments.corpus, arguments.budget, [*arguments.set, *chosen])
    corpus = Path(config.data.corpus).stem or "corpus"
    out = named((arguments.out or Path("runs") / f"{arguments.task}-{corpus}-{arguments.budget}") / language)
    jobs = cores() if arguments.jobs is None else arguments.jobs
    methods = arguments.methods or default_methods(arguments.task)
    return make_plan(arguments.task, arguments.budget, config, out, methods, arguments.seeds), jobs


def carry_out(plan: "Plan", jobs: int, arguments: argparse.Namespace, language: str = "") -> tuple["Done | None", int]:
    """Train what is not trained yet; what is done then, if anything is, and an exit code."""
    from bangbang import config as configs
    from bangbang import consent
    from bangbang.data import prepare
    from bangbang.files import write_whole
    from bangbang.reproduction import WorkerPool, check_unchanged

    allowed = consent.for_config(plan.out / "config.toml", arguments.set)
    corpus = prepare(plan.config.data, plan.config.vocabulary, plan.config.source_vocabulary, consent=allowed)
    check_unchanged(plan, corpus.fingerprint)
    write_whole(plan.out / "config.toml", configs.dumps(plan.config))
    pool = WorkerPool(plan, jobs)
    while not (interrupted := pool.work()) and plan.later and not pool.failed:
        plan, _ = planned(arguments, language)  # those that wait for the others' minutes are among its trainings now
        pool = WorkerPool(plan, jobs)
    if interrupted:
        print(f"bangbang: interrupted; go on with: {again(arguments)}", file=sys.stderr)
        return None, INTERRUPTED
    if pool.failed:
        names = ", ".join(pool.failed)
        print(f"bangbang: error: failed: {names}; logs are in {plan.out / 'logs'}", file=sys.stderr)
    return Done(plan, pool.done) if pool.done else None, 1 if pool.failed else 0


def again(arguments: argparse.Namespace) -> str:
    """The command line of this call."""
    words = ["bangbang", "reproduce", arguments.task, "--budget", arguments.budget]
    words += ["--seeds", *map(str, arguments.seeds)]
    for name in ("corpus", "out", "jobs"):
        value = getattr(arguments, name)
        words += [f"--{name}", str(value)] if value else []
    for name in ("languages", "methods", "decoders"):
        value = getattr(arguments, name)
        words += [f"--{name}", *value] if value else []
    words += [f"--{name}" for name in ("tune", "brief") if getattr(arguments, name)]
    return shlex.join([*words, *(word for setting in arguments.set for word in ("--set", setting))])


class Done(NamedTuple):
    """A plan as far as it is carried out."""

    plan: "Plan"
    names: set[str]
    """Of the trainings that are done."""

    @property
    def runs(self) -> list["LabelledRun"]:
        from bangbang.reporting import LabelledRun

        done = [training for training in self.plan.trainings if training.name in self.names]
        rows = [training for training in done if not training.method.only_a_start]
        return [LabelledRun(training.folder, training.method.label) for training in rows]


def show_results(plan: "Plan", done: set[str], arguments: argparse.Namespace) -> None:
    """Evaluate what is done, print the tables, write results.json and report.html."""
    title = f"{plan.task.capitalize()}: {Path(plan.config.data.corpus).name}, {plan.budget} budget"
    commands = [again(arguments), *(training.command for training in plan.trainings)]
    runs = Done(plan, done).runs
    if arguments.brief and not arguments.json:
        show_brief(runs, plan.out, title, commands, arguments)
    else:
        show_report(runs, plan.out, title, commands, arguments)


def show_brief(
    runs: "list[LabelledRun]", out: Path, title: str, commands: list[str], arguments: argparse.Namespace
) -> None:
    from bangbang.reporting.brief import brief
    from bangbang.terminal import Console
    from bangbang.training import Run

    results = report_with_progress(runs, out, title, commands, arguments.decoders)
    console = Console()
    console.print(brief(results, Run.open(runs[0].folder)), highlight=False)
    console.print(f"\nthe page: {out / 'report.html'}", highlight=False, soft_wrap=True)


def show_plan(plan: "Plan", jobs: int, as_json: bool) -> None:
    from bangbang.reproduction import Outline
    from bangbang.terminal import Console

    outline = Outline.of(plan, jobs)
    if as_json:
        print_json(outline.plain(), indent=1)
        return
    console = Console()
    console.print(outline.table(), highlight=False)
    console.print("\nwhat it runs, once config.toml is there:", highlight=False)
    for training in plan.trainings:
        console.print(training.command, highlight=False, markup=False, soft_wrap=True)
