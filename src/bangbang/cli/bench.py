"""Measure speed on this machine. Numbers are ratios taken in one run; `--json` prints them for programs.

examples:
  bangbang bench train-step
  bangbang bench train-step --json
  bangbang bench rewards
  bangbang bench metrics --json
  bangbang bench scaling --processes 2
"""

import argparse
import json
from importlib import import_module

# name -> module with add_arguments(parser), measure(arguments) -> dict for JSON, table(result) -> rich renderable
BENCHES = {
    "train-step": "bangbang.bench.train_step",
    "step": "bangbang.bench.step",
    "memory": "bangbang.bench.memory",
    "rewards": "bangbang.bench.rewards",
    "metrics": "bangbang.bench.metrics",
    "scaling": "bangbang.bench.scaling",
    "training": "bangbang.bench.training",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    benches = parser.add_subparsers(dest="bench", required=True, metavar="{" + ",".join(BENCHES) + "}")
    for name, module_name in BENCHES.items():
        module = import_module(module_name)
        bench = benches.add_parser(
            name, help=module.HELP, description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        module.add_arguments(bench)
        bench.add_argument("--json", action="store_true", help="print the numbers as JSON")
        bench.set_defaults(measure=module.measure, table=module.table)


def run(arguments: argparse.Namespace) -> int:
    result = arguments.measure(arguments)
    if arguments.json:
        print(json.dumps(result, indent=1))
        return 0
    from rich.console import Console

    Console().print(arguments.table(result))
    return 0
