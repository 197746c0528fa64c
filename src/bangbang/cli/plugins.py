"""List every kind that a config may choose: models, rewards, objectives, corpora, metrics and tasks.

What is built in comes with bangbang. What a guest's package brings is found by its entry points, in the groups
bangbang.models, bangbang.rewards, bangbang.objectives, bangbang.corpora, bangbang.metrics and bangbang.tasks.

examples:
  bangbang plugins                              every kind, its package and what it is
  bangbang plugins objectives                   those of one group
  bangbang plugins objectives bbspg             one kind with its settings, defaults and what they mean
  bangbang plugins --json
"""

import argparse
import dataclasses
import json
import math
from typing import Any

from bangbang import registry
from bangbang.cli.streams import print_json
from bangbang.errors import InputError
from bangbang.nearness import near
from bangbang.settings import documentation


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("group", metavar="GROUP", nargs="?", help="such as objectives or rewards")
    parser.add_argument("name", metavar="NAME", nargs="?", help="a kind of that group, with its settings")
    parser.add_argument("--json", action="store_true", help="print {group: {name: {package, settings}}}")


def run(arguments: argparse.Namespace) -> int:
    groups = [group for group in registry.HOMES if group not in registry.CLOSED]
    if arguments.group is not None and arguments.group not in groups:
        told = near(arguments.group, groups) or f"; the groups are {', '.join(groups)}"
        raise InputError(f"{arguments.group}: no such group{told}")
    found = [
        (group, kind)
        for group, kind in registry.everything()
        if arguments.group in (None, group) and arguments.name in (None, kind.name)
    ]
    if not found:
        names = registry.names(arguments.group)
        raise InputError(f"{arguments.name}: no such kind; there are {', '.join(names)}{near(arguments.name, names)}")
    if arguments.json:
        print_json(record(found), indent=1)
    else:
        show(found, with_settings=arguments.name is not None)
    return 0


def record(found: list[tuple[str, registry.Kind]]) -> dict[str, dict[str, Any]]:
    table: dict[str, dict[str, Any]] = {}
    for group, kind in found:
        entry: dict[str, Any] = {"package": kind.package, "about": about(kind), "settings": settings_of(kind)}
        table.setdefault(group, {})[kind.name] = {**entry, "trouble": kind.trouble} if kind.trouble else entry
    return table


def about(kind: registry.Kind) -> str:
    """The first paragraph of a kind's docstring, in one line."""
    text = (kind.settings.__doc__ or "") if kind.settings else ""
    return " ".join(text.split("\n\n")[0].split())


def settings_of(kind: registry.Kind) -> dict[str, dict[str, Any]]:
    """Each setting's default and what it means."""
    if kind.settings is None:
        return {}
    lines = documentation(kind.settings)
    return {
        field.name: {"default": plain(field), "about": lines.get(field.name, "")}
        for field in dataclasses.fields(kind.settings)
    }


def plain(field: "dataclasses.Field[Any]") -> Any:
    """A default as JSON has it, which knows no infinity."""
    if field.default is dataclasses.MISSING:
        return field.default_factory() if field.default_factory is not dataclasses.MISSING else None
    infinite = isinstance(field.default, float) and math.isinf(field.default)
    return str(field.default) if infinite else field.default


def show(found: list[tuple[str, registry.Kind]], with_settings: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    from bangbang.terminal import Console

    console = Console()
    grid = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
    for heading in ("group", "kind", "package", "what it is"):
        grid.add_column(heading, overflow="fold")
    last = ""
    for group, kind in found:
        told = kind.trouble or about(kind)
        grid.add_row(group if group != last else "", Text(kind.name), Text(kind.package), Text(told))
        last = group
    console.print(grid)
    if with_settings:
        for _, kind in found:
            for name, entry in settings_of(kind).items():
                line = Text(f"\n{name} = {json.dumps(entry['default'], ensure_ascii=False)}", style="bold")
                console.print(line.append(f"\n  {entry['about']}", style="not bold"))
