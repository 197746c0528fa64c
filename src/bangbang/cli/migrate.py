"""Rewrite a config of a version before 0.2, whose tables held the settings of all kinds.

Settings of other kinds than those that the config chooses are left out, and named. Run folders need nothing: what an
older version wrote is opened as it is.

examples:
  bangbang migrate old.toml                  print the new config
  bangbang migrate old.toml --out new.toml
"""

import argparse
import sys
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", metavar="CONFIG", type=Path, help="a TOML file")
    parser.add_argument("--out", metavar="FILE", type=Path, help="write it there instead of printing it")


def run(arguments: argparse.Namespace) -> int:
    import tomli_w

    from bangbang import config as configs
    from bangbang.cli.streams import write_utf8
    from bangbang.files import check_place, write_whole

    table = configs.read_table(arguments.config)
    kept, dropped = configs.without_others(table)
    configs.build(kept, str(arguments.config))
    text = tomli_w.dumps(kept)
    for name in dropped:
        print(f"left out {name}, which belongs to another kind", file=sys.stderr)
    if arguments.out:
        check_place(arguments.out)
        write_whole(arguments.out, text)
    else:
        write_utf8()  # as TOML is
        print(text, end="")
    return 0
