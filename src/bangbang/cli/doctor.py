"""Look whether this machine can train: versions, devices, threads, memory, what is missing and why it matters.

examples:
  bangbang doctor
  bangbang doctor --json

The exit code is 0 unless nothing can be trained here. Nothing is downloaded, installed or written.
"""

import argparse
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from bangbang.cli.streams import print_json
from bangbang.diagnosis import Finding, diagnose, gib
from bangbang.errors import InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print all findings as JSON")


def run(arguments: argparse.Namespace) -> int:
    findings = [*diagnose(), *of_data()]
    fatal = [each for each in findings if each.fatal]
    if arguments.json:
        print_json({"can_train": not fatal, "findings": [each._asdict() for each in findings]}, indent=1)
    else:
        show(findings)
    if fatal:
        raise InputError(f"nothing can be trained here: {fatal[0].name} ({fatal[0].value}): {fatal[0].trouble}")
    return 0


def of_data() -> Iterator[Finding]:
    """Debian's descriptions, and where prepared corpora go by default."""
    from bangbang.corpora.settings import CorpusSettings

    yield debian()
    yield cache(Path(CorpusSettings.cache))


def debian() -> Finding:
    from bangbang.corpora.debian import APT_LISTS, HOW_TO_GET, INDEX

    found = len(list(APT_LISTS.glob(INDEX)))
    trouble = "" if found else f"configs/headlines-debian.toml has nothing to read; {HOW_TO_GET}"
    return Finding("data", "debian's descriptions", f"{found} index files" if found else "none", trouble)


def cache(folder: Path) -> Finding:
    """Whether a corpus can be kept where the default says: in the working folder."""
    import shutil

    place = folder if folder.exists() else Path.cwd()
    free = f"{place.absolute()}, {gib(shutil.disk_usage(place).free)} free"
    writable = place.is_dir() and os.access(place, os.W_OK | os.X_OK)
    trouble = "" if writable else "cannot be written; go to another folder, or --set data.cache=FOLDER"
    return Finding("data", "cache of corpora", free, trouble)


def show(findings: Sequence[Finding]) -> None:
    from rich.table import Table
    from rich.text import Text

    from bangbang.terminal import Console

    grid = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for _ in range(2):
        grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for each in findings:
        mark = Text("✗", "red") if each.fatal else Text("!", "yellow") if each.trouble else Text("✓", "green")
        grid.add_row(mark, Text(each.name), Text(each.value).append(f": {each.trouble}" if each.trouble else ""))
    console = Console()
    console.print(grid)
    missed = sum(bool(each.trouble) for each in findings)
    console.print(Text(f"\n{missed} to look at" if missed else "\nall is well"))
