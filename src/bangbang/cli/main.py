"""`bangbang VERB ...`: finds the verb's module, lets it parse and run, turns every error into one line.

Bad input, which is an `InputError` where file and line are known, has exit code 2. What else escapes is a defect of the
program and has exit code 70; `--debug` adds the traceback.

A verb is a module with `add_arguments(parser)` and `run(arguments) -> exit code`, and its docstring is its help text.
Verbs import what is heavy inside `run`, so that every `--help` answers at once.
"""

import argparse
import re
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from bangbang import __version__
from bangbang.cli import streams
from bangbang.control_characters import visible
from bangbang.errors import InputError, ReportedElsewhereError
from bangbang.nearness import near, near_number

# verb -> what `bangbang --help` says of it; the module is bangbang.cli.<verb>
VERBS = {
    "data": "make a corpus of (text, short text) pairs, or look into one",
    "features": "turn a folder of images into features for captioning",
    "train": "train a model as a config says",
    "evaluate": "decode a split of a run's corpus and score it",
    "tune": "find the best way of decoding for a run, by its validation split",
    "generate": "read lines, write what a run's model generates for them",
    "explain": "show token by token what a run trains on",
    "serve": "open a page on this machine to try runs: type a text, see what each writes and why",
    "score": "score texts against references: ROUGE, coco-caption, BLEU, chrF, TER",
    "compare": "compare two systems' texts, with significance",
    "reproduce": "train every method of the paper alike, compare them, write a report",
    "report": "compare runs on the test split: a table, and a page to look at",
    "export": "write a run's model as a folder that transformers opens",
    "hf": "check whether a model of the transformers library can be trained here",
    "plugins": "list every model, reward, objective, corpus, metric and task that a config may choose",
    "migrate": "rewrite a config of an older version",
    "doctor": "look whether this machine can train, and what it lacks",
    "bench": "measure speed as ratios, on this machine",
}

DEFECT = 70  # EX_SOFTWARE of sysexits.h
DEBUG = "--debug"


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
  --debug        with any verb, anywhere: print where a defect or a lack of memory arose

Bad input gets one line and exit code 2; exit code 70 is a defect of bangbang. What a terminal's encoding lacks is
written as an escape such as \\u2192; JSON, TOML and what `generate` writes are UTF-8 whatever the locale is.
"""


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line, as all others are."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message}{self.meant(message)}; {self.prog} --help shows what there is")

    def meant(self, message: str) -> str:
        """What may have been meant by an option, or by a choice, that there is not."""
        if found := re.match(r"unrecognized arguments: (--[\w-]+)", message):
            return near(found[1], self._option_string_actions)
        if found := re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message):
            return near(found[1], (name.strip("' ") for name in found[2].split(",")))
        if found := re.search(r"invalid (float|int) value: '(.*?)'$", message):
            return near_number(found[2], whole=found[1] == "int")
        return ""

    def print_help(self, file: Any = None) -> None:
        """argparse would say nothing of a disk that is full."""
        print(self.format_help(), end="", file=file, flush=True)


def verb_parser(verb: str) -> argparse.ArgumentParser:
    module = import_module(f"bangbang.cli.{verb}")
    parser = Parser(
        prog=f"bangbang {verb}", description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    module.add_arguments(parser)
    parser.set_defaults(run=module.run)
    return parser


def main(argv: Sequence[str]) -> int:
    """Run one command and return its exit code. This is the one place where errors end."""
    words, debug = without_debug(argv)
    try:
        streams.prepare()
        code = command(words)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("bangbang: interrupted", file=sys.stderr)
        return 130
    except Exception as error:
        if debug and not isinstance(error, InputError):  # whose message says it all
            traceback.print_exc()
        return exit_code(error)


def without_debug(argv: Sequence[str]) -> tuple[list[str], bool]:
    """The command line without --debug, and whether it was there; what follows `--` is no option."""
    end = list(argv).index("--") if "--" in argv else len(argv)
    words = [word for word in argv[:end] if word != DEBUG]
    return [*words, *argv[end:]], len(words) < end


def command(argv: Sequence[str]) -> int:
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(top_help(), end="")
        return 0 if argv else 2
    if argv[0] == "--version":
        print(f"bangbang {__version__}")
        return 0
    verb, *rest = argv
    if verb not in VERBS:
        told = near(verb, VERBS) or f"; the verbs are {', '.join(VERBS)}"
        raise InputError(f"unknown verb {verb!r}{told}")
    arguments = verb_parser(verb).parse_args(rest)
    if getattr(arguments, "json", False):
        streams.write_utf8()
    return int(arguments.run(arguments))


def exit_code(error: Exception) -> int:
    """Tell of an error in one line."""
    if isinstance(error, ReportedElsewhereError):
        return 2
    if isinstance(error, InputError):
        return fail(str(error))
    if isinstance(error, BrokenPipeError):  # the reader (head, less) has gone: not an error
        streams.abandon_output()
        return 0
    if isinstance(error, UnicodeEncodeError) and error.reason == "surrogates not allowed":  # bytes that were no text
        return fail(f"{error.object[:80]!a}: a name that is not UTF-8 in this locale; rename it, or set LC_ALL=C.UTF-8")
    if is_lack_of_memory(error):
        return fail(f"not enough memory ({error or 'Python has none left'}); ask for less at once, or use less data")
    if isinstance(error, OSError):  # a full disk, a folder that is not there or may not be written
        streams.settle_output()
        return fail(f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error))
    tell(f"this is a defect of bangbang: {type(error).__name__}: {error}; please report it with what `--debug` prints")
    return DEFECT


def is_lack_of_memory(error: Exception) -> bool:
    """Python's and numpy's error is a MemoryError; torch's is a RuntimeError, on a CPU known by its text alone."""
    of_torch = type(error).__name__ == "OutOfMemoryError" or "can't allocate memory" in str(error)
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and of_torch)


def fail(message: str) -> int:
    tell(f"error: {message}")
    return 2


def tell(message: str) -> None:
    print("bangbang:", *visible(message).split(), file=sys.stderr)


def entry() -> None:
    sys.exit(main(sys.argv[1:]))
