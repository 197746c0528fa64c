"""`bangbang reproduce` for every language of a corpus, and one table of all."""

import argparse
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from bangbang.cli.report import report_with_progress
from bangbang.cli.reproduce import INTERRUPTED, Done, again, carry_out, planned, show_plan
from bangbang.cli.streams import print_json

if TYPE_CHECKING:
    from bangbang.reproduction import Plan

DECODERS = ("greedy", "beam")  # of the table, where none is named


def run_languages(found: list[str], arguments: argparse.Namespace) -> int:
    """Every language after the other, then the table of all."""
    from bangbang.data.preparation import open_reader
    from bangbang.folders import named
    from bangbang.locks import locked

    plans = {language: planned(arguments, language) for language in found}
    for plan, _ in plans.values():
        open_reader(plan.config.data)  # a language that is not there is told of before the first is trained
    if arguments.dry_run:
        show_plans(plans, arguments.json)
        return 0
    done, worst = {}, 0
    out = next(iter(plans.values()))[0].out.parent
    with locked(named(out)):
        for language, (plan, jobs) in plans.items():
            with locked(plan.out):
                trained, code = carry_out(plan, jobs, arguments, language)
            if code == INTERRUPTED:
                return code
            worst = max(worst, code)
            if trained:
                done[language] = trained
        if done:
            show_languages(done, out, arguments)
    return worst


def show_plans(plans: dict[str, tuple["Plan", int]], as_json: bool) -> None:
    from bangbang.reproduction import Outline

    if as_json:
        print_json({language: Outline.of(plan, jobs).plain() for language, (plan, jobs) in plans.items()}, indent=1)
        return
    for plan, jobs in plans.values():
        show_plan(plan, jobs, as_json)


def show_languages(done: dict[str, Done], out: Path, arguments: argparse.Namespace) -> None:
    """A report of each language, then the table of all: printed, and written as languages.json, .md and .html."""
    from rich.text import Text

    from bangbang.reporting.language_table import language_table, write_languages
    from bangbang.reporting.languages import Language, language_results
    from bangbang.reproduction import published_scores
    from bangbang.terminal import Console

    console, first = Console(stderr=True), next(iter(done.values())).plan
    commands = {name: [each.command for each in found.plan.trainings] for name, found in done.items()}
    for name, found in done.items():
        own = [again(arguments), *commands[name]]
        report_with_progress(found.runs, found.plan.out, f"{first.task.capitalize()}: {name}", own, None)
    with console.status("decoding test splits") as status:
        results = language_results(
            [Language(name, found.plan.out, found.runs) for name, found in done.items()],
            arguments.decoders or DECODERS,
            title=f"{first.task.capitalize()}: {len(done)} languages, {first.budget} budget",
            commands=[again(arguments), *chain(*commands.values())],
            published=published_scores(first.task, list(done)),
            progress=lambda message: status.update(Text(message)),
        )
    write_languages(results, out, list(done))
    if arguments.json:
        print(results.json(), end="")
        return
    Console().print(language_table(results))
    Console().print(f"\nthe page: {out / 'languages.html'}", highlight=False, soft_wrap=True)
