"""`--set TABLE.KEY=VALUE` of the verbs that read a config."""

import argparse


def add_changes(parser: argparse.ArgumentParser, told: str) -> None:
    parser.add_argument("--set", action="append", default=[], type=change, metavar="TABLE.KEY=VALUE", help=told)


def change(text: str) -> str:
    """A setting as it was typed. One without `=` is refused here: what follows it would be blamed otherwise."""
    if "=" in text:
        return text
    from bangbang.config import such_as

    raise argparse.ArgumentTypeError(f"{text}: expected table.key=value, such as {such_as(text.split('.'), '')}")
