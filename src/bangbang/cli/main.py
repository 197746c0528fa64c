"""`bangbang VERB ...`: finds the verb's module, lets it parse and run, turns bad input into one line and exit code 2.

A verb is a module with `add_arguments(parser)` and `run(arguments) -> exit code`, and its docstring is its help text.
Verbs import what is heavy inside `run`, so that every `--help` answers at once.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from bangbang import __version__
from bangbang.errors import InputError, ReportedElsewhereError

# verb -> what `bangbang --help` says of it; the module is bangbang.cli.<verb>
VERBS = {
    "data": "make a corpus of (text, short text) pairs, or look into one",
    "features": "turn a folder of images into features for captioning",
    "train": "train a model as a config says",
    "evaluate": "decode a split of a run's corpus and score it",
    "generate": "read lines, write what a run's model generates for them",
    "explain": "show token by token what a run trains on",
    "score": "score texts against references: ROUGE, coco-caption, BLEU, chrF, TER",
    "compare": "compare two systems' texts, with significance",
    "reproduce": "train every method of the paper alike, compare them, write a report",
    "report": "compare runs on the test split: a table, and a page to look at",
    "plugins": "list every model, reward, objective, corpus, metric and task that a config may choose",
    "migrate": "rewrite a config of an older version",
    "bench": "measure speed as ratios, on this machine",
}


def top_help() -> str:
    width = max(map(len, VERBS))
    verbs = "\n".join(f"  {verb:<{width}}  {what}" for verb, what in VERBS.items())
    return f"""usage: bangbang VERB [options]

Train sequence generators against the metric they are judged by.

verbs:
{verbs}

examples:
  bangbang train configs/headlines-docstrings.toml --out runs/first
  echo "a library to read and write pictures in many formats" | bangbang generate runs/first
  bangbang VERB --help

options:
  -h, --help     show this text
  --version      show the version
"""


def verb_parser(verb: str) -> argparse.ArgumentParser:
    module = import_module(f"bangbang.cli.{verb}")
    parser = argparse.ArgumentParser(
        prog=f"bangbang {verb}", description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    module.add_arguments(parser)
    parser.set_defaults(run=module.run)
    return parser


def fail(message: str) -> int:
    print(f"bangbang: error: {message}", file=sys.stderr)
    return 2


def main(argv: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(top_help(), end="")
        return 0 if argv else 2
    if argv[0] == "--version":
        print(f"bangbang {__version__}")
        return 0
    verb, *rest = argv
    if verb not in VERBS:
        return fail(f"unknown verb {verb!r}; the verbs are {', '.join(VERBS)}")
    try:
        arguments = verb_parser(verb).parse_args(rest)
        return int(arguments.run(arguments))
    except ReportedElsewhereError:
        return 2
    except InputError as error:
        return fail(" ".join(str(error).split()))
    except KeyboardInterrupt:
        print("bangbang: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # the reader (head, less) has gone: not an error, but Python must not complain again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # a full disk, a folder that is not there or may not be written
        return fail(f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error))


def entry() -> None:
    sys.exit(main(sys.argv[1:]))
