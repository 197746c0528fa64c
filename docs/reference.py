"""Write docs/reference/: every config key from the settings dataclasses, every verb from its parser.

    .venv/bin/python docs/reference.py

`tests/test_reference.py` fails where the pages are not what this writes.
"""

import argparse
import dataclasses
import json
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from bangbang import config as configs
from bangbang import registry
from bangbang.cli.main import VERBS, verb_parser
from bangbang.cli.plugins import plain
from bangbang.settings import KindSettings, Settings, documentation
from bangbang.training.settings import StageSettings

FOLDER = Path(__file__).parent / "reference"
CHOSEN_BY = {"data": "corpus"}  # the key that chooses a table's kind, where it is not `kind`


def pages() -> dict[str, str]:
    """The text of each page by its name."""
    return {"config.md": config_page(), "verbs.md": verbs_page()}


def config_page() -> str:
    lines = [
        "# Every key of a config",
        "",
        "Written by `docs/reference.py` from the settings themselves. A config is TOML; a key that is left out has",
        "the default. `--set table.key=value` changes one for one call. `bangbang plugins` lists what installed",
        "packages add.",
    ]
    for name, base in configs.bases().items():
        lines += ["", f"## [{name}]", "", summary(base)]
        lines += kind_tables(name, base) if issubclass(base, KindSettings) else ["", *keys(base)]
    lines += ["", "## [[stages]]", "", summary(StageSettings), "", *keys(StageSettings)]
    return "\n".join(lines) + "\n"


def kind_tables(table: str, base: type[KindSettings]) -> Iterator[str]:
    """What all kinds share, then what each has of its own."""
    shared = set(registry.fields_of(base))
    if shared:
        yield from ("", "Of every kind:", "", *keys(base))
    for name, kind in registry.built_in(base.group).items():
        yield from ("", f'### {CHOSEN_BY.get(table, "kind")} = "{name}"', "", summary(kind))
        own = [key for key in registry.fields_of(kind) if key not in shared or is_another(kind, base, key)]
        if own:
            yield from ("", *keys(kind, own))


def is_another(kind: type[Any], base: type[Any], key: str) -> bool:
    """Whether a kind has a default of its own for what all have."""
    fields = [{field.name: field for field in dataclasses.fields(each)}[key] for each in (kind, base)]
    return plain(fields[0]) != plain(fields[1])


def keys(settings: type[Settings], names: list[str] | None = None) -> list[str]:
    """A table of keys, defaults and meanings."""
    about, hints = documentation(settings), get_type_hints(settings)
    rows = ["| key | default | |", "|---|---|---|"]
    for field in dataclasses.fields(settings):
        if names is None or field.name in names:
            default = json.dumps(plain(field), ensure_ascii=False)
            told = " ".join(part for part in (about.get(field.name, ""), choices(hints[field.name])) if part)
            rows.append(f"| `{field.name}` | `{default}` | {cell(told)} |")
    return rows


def choices(hint: Any) -> str:
    """What may be chosen, of a setting with a few names."""
    options = get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    names = [name for option in options if get_origin(option) is Literal for name in get_args(option)]
    return f"One of {', '.join(f'`{json.dumps(name)}`' for name in names)}." if names else ""


def summary(settings: type[Any]) -> str:
    return " ".join((settings.__doc__ or "").split("\n\n")[0].split())


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def verbs_page() -> str:
    written = "Written by `docs/reference.py` from the parsers. `bangbang VERB --help` says the same."
    lines = ["# Every verb", "", written]
    for verb, what in VERBS.items():
        parser = verb_parser(verb)
        lines += ["", f"## bangbang {verb}", "", f"{what[0].upper()}{what[1:]}.", "", "```"]
        lines += [*(parser.description or "").strip().splitlines(), "```", "", "| | |", "|---|---|"]
        lines += [
            row(action) for action in parser._actions if action.dest != "help" and action.help != argparse.SUPPRESS
        ]
    return "\n".join(lines) + "\n"


def row(action: argparse.Action) -> str:
    named = " ".join(filter(None, [", ".join(action.option_strings), value_of(action)]))
    return f"| `{cell(named)}` | {cell(action.help or '')} |"


def value_of(action: argparse.Action) -> str:
    """What follows an option, or stands for an argument."""
    if action.nargs == 0:
        return ""
    several = " ..." if action.nargs in ("+", "*") else ""
    if action.metavar:
        return f"{action.metavar}{several}"
    if action.choices:
        return "{" + ",".join(map(str, action.choices)) + "}"
    return f"{action.dest.upper()}{several}"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, "utf-8")
