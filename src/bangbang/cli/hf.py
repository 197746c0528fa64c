"""Generators of the transformers library: check whether one can be trained here.

`check` loads a model from a folder or the hub, without any code of its own and from safetensors alone, and finds out by
trying how its output layer works, whether its steps equal its pass over known tokens, and whether a batch equals its
rows alone. Exit code 1 means that it does not fit.

examples:
  bangbang hf check models/t5-small
  bangbang hf check google-t5/t5-small --json
"""

import argparse
import json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=["check"], help="what to do")
    parser.add_argument("name", metavar="MODEL", help="a folder, or an id of the hub")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def run(arguments: argparse.Namespace) -> int:
    from bangbang.hf.requirements import require

    require(f"bangbang hf {arguments.action}")
    from bangbang.hf.check import check

    report = check(arguments.name)
    if arguments.json:
        print(json.dumps(report._asdict(), indent=1, ensure_ascii=False))
    else:
        show(report._asdict())
    return 0 if report.fits else 1


def show(table: dict[str, object]) -> None:
    from rich.table import Table
    from rich.text import Text

    from bangbang.terminal import Console

    grid = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for name, value in table.items():
        for line in value if isinstance(value, list) else [written(value)]:
            if line:
                grid.add_row(Text(name.replace("_", " "), "dim"), Text(line))
    Console().print(grid)


def written(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:,}" if isinstance(value, int) else f"{value:.1e}"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value or "")
