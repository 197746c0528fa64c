"""Show what a run trains on for one example: bang-bang SPG token by token, or the targets of all methods.

examples:
  bangbang explain runs/debian                                      the first validation example
  bangbang explain runs/debian --example 40 --seed 7 --html explained.html
  bangbang explain runs/debian "a library to read pictures" --reference "image library" --p-drop 0.6
  bangbang explain runs/debian --json
  bangbang explain runs/debian --example 40 --targets --plot targets.png --html targets.html

Without --targets it draws one target by bang-bang SPG and tells of each token who chose it, reward or model, what it
adds to the reward (Δr), what the model thinks of it (p), and whether it is in the loss. With --targets it draws many
by MLE, RAML, SPG, bang-bang SPG and PG, and shows where they lie between the reference and the model. Settings are the
run's own where it is trained by that method, else the defaults. The model is used without dropout. A run on images is
explained by its validation examples.
"""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bangbang.cli.numbers import seed, whole
from bangbang.cli.streams import print_json
from bangbang.errors import InputError
from bangbang.files import check_place

if TYPE_CHECKING:
    from bangbang.explanation import Subject, Targets

PICTURES = (".png", ".svg", ".pdf")
SAMPLES = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_folder", metavar="RUN", type=Path)
    parser.add_argument("source", metavar="SOURCE", nargs="?", help="the input text (with --reference)")
    parser.add_argument("--reference", metavar="TEXT", help="the output text that SOURCE should have")
    parser.add_argument("--example", type=whole(), metavar="N", help="without SOURCE: this validation example (1)")
    parser.add_argument("--checkpoint", default="best", metavar="C", help="best (default), last, or a step number")
    parser.add_argument(
        "--cache", type=Path, metavar="FOLDER", help="where to make the run's corpus again, if it is gone"
    )
    parser.add_argument("--p-drop", type=float, metavar="P", help="how likely a token is left to the model")
    parser.add_argument("--seed", type=seed, default=1, help="another seed draws other targets (default 1)")
    parser.add_argument("--targets", action="store_true", help="compare the targets of all methods")
    parser.add_argument("--samples", type=whole(1), metavar="N", help=f"with --targets: of each ({SAMPLES})")
    parser.add_argument("--weight", type=float, metavar="W", help="with --targets: SPG's finite W (default 30)")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="with --targets: write the plot, .png, .svg or .pdf")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write one self-contained page")
    parser.add_argument("--json", action="store_true", help="print all numbers as JSON")


def run(arguments: argparse.Namespace) -> int:
    check(arguments)
    from bangbang.explanation import Subject
    from bangbang.explanation.subject import text_example, validation_example
    from bangbang.terminal import Console
    from bangbang.training import Run

    opened = Run.open(arguments.run_folder, arguments.cache)
    if arguments.source is None:
        example = validation_example(opened, 1 if arguments.example is None else arguments.example)
    else:
        example = text_example(opened, arguments.source, arguments.reference)
    subject = Subject.of(opened, example, arguments.checkpoint)
    record, table = explain_targets(subject, arguments) if arguments.targets else explain_trace(subject, arguments)
    if arguments.json:
        print_json(record, indent=1)
    else:
        Console().print(table)
    return 0


def check(arguments: argparse.Namespace) -> None:
    """What can be said before anything is loaded."""
    if (arguments.source is None) != (arguments.reference is None):
        raise InputError('SOURCE and --reference belong together: explain RUN "source text" --reference "its headline"')
    if arguments.source is not None and arguments.example is not None:
        raise InputError("--example is for when no SOURCE is given")
    for name in ("plot", "samples", "weight"):
        if getattr(arguments, name) is not None and not arguments.targets:
            raise InputError(f"--{name} is for what --targets shows; add --targets")
    if arguments.plot is not None and arguments.plot.suffix not in PICTURES:
        raise InputError(f"--plot {arguments.plot}: the name must end in {', '.join(PICTURES)}")
    for place in (arguments.plot, arguments.html):
        if place is not None:
            check_place(place)


def explain_trace(subject: "Subject", arguments: argparse.Namespace) -> tuple[dict[str, Any], Any]:
    from bangbang.explanation import trace
    from bangbang.explanation.page import page, trace_record
    from bangbang.explanation.targets import bang_bang
    from bangbang.explanation.terminal import trace_table
    from bangbang.terminal import Console

    settings = bang_bang(subject.leg.objective, subject.step, arguments.p_drop)
    found = trace(subject, settings, arguments.seed)
    record = trace_record(subject, settings, found, arguments.seed)
    if arguments.html:
        write(arguments.html, page(f"Who chose each word? {subject.run.folder.name}", record))
    return record, trace_table(subject, settings, found, Console().width)


def explain_targets(subject: "Subject", arguments: argparse.Namespace) -> tuple[dict[str, Any], Any]:
    from bangbang.explanation.page import page, targets_record
    from bangbang.explanation.scatter import inline_svg, picture_bytes
    from bangbang.explanation.terminal import targets_table

    drawn = draw_with_progress(subject, arguments)
    record = targets_record(subject, drawn, arguments.seed)
    if arguments.plot:
        write(arguments.plot, picture_bytes(drawn, arguments.plot.suffix[1:]))
    if arguments.html:
        drawings = inline_svg(drawn, "wide", 7.2, 5.4) + inline_svg(drawn, "narrow", 4.4, 4.6)
        write(arguments.html, page(f"Targets of each method, {subject.run.folder.name}", record, drawings))
    return record, targets_table(subject, drawn)


def draw_with_progress(subject: "Subject", arguments: argparse.Namespace) -> list["Targets"]:
    from rich.progress import track

    from bangbang.explanation import draw_targets
    from bangbang.explanation.targets import Methods
    from bangbang.terminal import Console

    methods = Methods.of(subject.leg.objective, subject.step, arguments.p_drop, arguments.weight)
    drawing = draw_targets(subject, methods, arguments.samples or SAMPLES, arguments.seed)
    return list(
        track(
            drawing,
            "drawing targets",
            total=len(Methods._fields) + 1,
            console=Console(stderr=True),
            transient=True,
            disable=not sys.stderr.isatty(),
        )
    )


def write(path: Path, content: str | bytes) -> None:
    from bangbang.files import write_output

    try:
        write_output(path, content)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None
    print(f"wrote {path}", file=sys.stderr)
