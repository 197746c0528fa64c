"""Measure speed on this machine. Numbers are ratios taken in one run; `--json` prints them for programs.

The benchmarks are the repository's benchmarks/ folder and not installed with the package: this works in a checkout.

examples:
  bangbang bench train-step
  bangbang bench train-step --json
  bangbang bench rewards
  bangbang bench metrics --json
  bangbang bench scaling --processes 2
  bangbang bench mbr --lines 200
  bangbang bench serve --run runs/debian
  bangbang bench hf --json
"""

import argparse
import sys
import tomllib
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import NoReturn

from bangbang.cli.streams import print_json
from bangbang.errors import InputError

# name -> module with add_arguments(parser), measure(arguments) -> dict for JSON, table(result) -> rich renderable
BENCHES = {
    "train-step": "benchmarks.train_step",
    "step": "benchmarks.step",
    "memory": "benchmarks.memory",
    "rewards": "benchmarks.rewards",
    "metrics": "benchmarks.metrics",
    "scaling": "benchmarks.scaling",
    "training": "benchmarks.training",
    "mbr": "benchmarks.minimum_risk",
    "serve": "benchmarks.serve",
    "spelling": "benchmarks.spelling",
    "hf": "benchmarks.hf",
}
ABSENT = (
    "bench: the benchmarks are not installed with the package, they are the benchmarks/ folder of its repository; "
    "in a clone of it: pip install --editable '.[dev]', then bangbang bench NAME"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    folder = benchmarks_folder()
    if folder is None:
        parser.add_argument("arguments", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
        parser.set_defaults(measure=refuse)
        return
    use_package(folder)
    benches = parser.add_subparsers(dest="bench", required=True, metavar="{" + ",".join(BENCHES) + "}")
    for name, module_name in BENCHES.items():
        module = import_module(module_name)
        bench = benches.add_parser(
            name, help=module.HELP, description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        module.add_arguments(bench)
        bench.add_argument("--json", action="store_true", help="print the numbers as JSON")
        bench.set_defaults(measure=module.measure, table=module.table)


def benchmarks_folder() -> Path | None:
    """The benchmarks of the checkout that this file is in; none if it is not in one.

    The search path is not asked: a `benchmarks` package that it finds may be anybody's.
    """
    try:
        source, root = Path(__file__).resolve().parents[2:4]
        project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["name"]
    except (OSError, ValueError, LookupError, TypeError):  # no such file, not TOML, or without a name
        return None
    folder = root / "benchmarks"
    found = (source.name, project) == ("src", "bangbang") and (folder / "__init__.py").is_file()
    return folder if found else None


def use_package(folder: Path) -> None:
    """Let `benchmarks` be the package in this folder, whatever the search path has."""
    start = folder / "__init__.py"
    if getattr(sys.modules.get(folder.name), "__file__", None) == str(start):
        return
    spec = spec_from_file_location(folder.name, start, submodule_search_locations=[str(folder)])
    assert spec is not None and spec.loader is not None
    sys.modules[folder.name] = package = module_from_spec(spec)
    spec.loader.exec_module(package)


def refuse(arguments: argparse.Namespace) -> NoReturn:
    raise InputError(ABSENT)


def run(arguments: argparse.Namespace) -> int:
    from bangbang.products import by_widest_instructions

    by_widest_instructions()  # as training does
    result = arguments.measure(arguments)
    if arguments.json:
        print_json(result, indent=1)
        return 0
    from bangbang.terminal import Console

    Console().print(arguments.table(result))
    return 0
