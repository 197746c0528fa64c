"""Compare two systems on the same examples: both scores, their difference, and whether chance could explain it.

A and B are two files with one text a line, UTF-8 (an empty line is an empty text), or two run folders, whose best
checkpoints decode the split of A's corpus. The interval of the difference comes from a paired bootstrap; p-values from
that and from approximate randomisation. The difference is A - B.

examples:
  bangbang compare runs/spg runs/mle --split test
  bangbang compare spg.txt mle.txt --references references.txt
  bangbang compare spg.txt mle.txt --references refs.0 refs.1 refs.2 --metric coco --moved 10
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bangbang.cli.metric_options import (
    add_metric_arguments,
    headline,
    metric_of,
    number,
    resampling_of,
    shown_names,
    with_sentences,
)
from bangbang.cli.numbers import whole
from bangbang.cli.streams import print_json

if TYPE_CHECKING:
    from rich.table import Table

    from bangbang.metrics import Comparison


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", help="the first system: a file of texts, or a run folder")
    parser.add_argument("b", metavar="B", help="the second system, likewise")
    parser.add_argument("--references", nargs="+", metavar="REF", help="files' references, one a line")
    parser.add_argument("--split", default="test", help="runs: the split to decode (default test)")
    parser.add_argument("--limit", type=whole(), default=0, metavar="N", help="runs: only the split's first N rows")
    parser.add_argument(
        "--cache", type=Path, metavar="FOLDER", help="runs: where to make the corpus again, if it is gone"
    )
    add_metric_arguments(parser)
    parser.add_argument("--moved", type=whole(), default=5, metavar="N", help="show the N examples that moved most (5)")


def run(arguments: argparse.Namespace) -> int:
    from bangbang.cli.metric_options import read_aligned
    from bangbang.errors import InputError

    folders = [Path(name).is_dir() for name in (arguments.a, arguments.b)]
    if all(folders):
        return compare_texts(*decode_runs(arguments), arguments)
    if any(folders):
        raise InputError("compare takes two run folders or two files, not one of each")
    if not arguments.references:
        raise InputError("two files need --references REF [REF ...]")
    (a, b), references = read_aligned([arguments.a, arguments.b], arguments.references)
    return compare_texts(a, b, references, arguments)


def decode_runs(arguments: argparse.Namespace) -> tuple[list[str], list[str], list[list[str]]]:
    """Both runs' outputs on the split of the first one's corpus, and its references."""
    from rich.text import Text

    from bangbang.terminal import Console
    from bangbang.training import Run
    from bangbang.training.evaluation import decode_run

    a, b = Run.open(arguments.a, arguments.cache), Run.open(arguments.b)
    if a.caveat:
        Console(stderr=True).print(a.caveat, highlight=False, soft_wrap=True)
    split = a.corpus().split(arguments.split)
    outputs = []
    for opened in (a, b):
        with Console(stderr=True).status(Text(f"decoding {arguments.split} with {opened.folder}")):
            outputs.append(decode_run(opened, split, opened.config.decoding, limit=arguments.limit))
    return outputs[0].outputs, outputs[1].outputs, outputs[0].references


def compare_texts(
    a: Sequence[str], b: Sequence[str], references: Sequence[Sequence[str]], arguments: argparse.Namespace
) -> int:
    """Compare two systems' texts as the options say, and print the outcome."""
    from bangbang.metrics import compare
    from bangbang.terminal import Console

    metric, resampling = metric_of(arguments), resampling_of(arguments)
    with Console(stderr=True).status(f"scoring 2 x {len(a):,} texts"):
        comparison = compare(
            metric,
            with_sentences(a, arguments),
            with_sentences(b, arguments),
            [with_sentences(texts, arguments) for texts in references],
            resampling,
        )
    ranked_by = headline(metric, arguments)
    moved: list[dict[str, Any]] = [
        {"example": index + 1, "difference": difference, "a": a[index], "b": b[index], "references": references[index]}
        for index, difference in comparison.moved_most(ranked_by, arguments.moved)
    ]
    if arguments.json:
        report = {"metric": arguments.metric, "signature": comparison.signature, "examples": len(a)}
        print_json(report | {"scores": _plain(comparison), "moved_by": ranked_by, "moved": moved})
        return 0
    console = Console()
    names = [name for name in shown_names(metric, arguments) if name == ranked_by or _part(name) == _part(ranked_by)]
    console.print(_table(comparison, names, arguments))
    console.print(comparison.signature, soft_wrap=True, highlight=False, markup=False)
    for example in moved:
        lines = [f"example {example['example']}: {ranked_by} {number(example['difference'], arguments, '+')}"]
        lines += [
            f"  A    {example['a']}",
            f"  B    {example['b']}",
            *(f"  ref  {text}" for text in example["references"]),
        ]
        console.print("\n".join(lines), soft_wrap=True, highlight=False, markup=False)
    return 0


def _part(name: str) -> str:
    """Recall, precision or F1 of a ROUGE score; nothing for others."""
    return name.rpartition(".")[2] if name.startswith("rouge-") and "." in name else ""


def _plain(comparison: "Comparison") -> dict[str, dict[str, Any]]:
    return {
        name: {
            "a": score.a._asdict(),
            "b": score.b._asdict(),
            "difference": score.difference._asdict(),
            "p_bootstrap": score.p_bootstrap,
            "p_randomisation": score.p_randomisation,
        }
        for name, score in comparison.scores.items()
    }


def _table(comparison: "Comparison", names: list[str], arguments: argparse.Namespace) -> "Table":
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from bangbang.metrics.significance import p_text

    resamples = resampling_of(arguments).resamples
    title = f"{len(comparison.differences):,} examples; p by paired bootstrap and by approximate randomisation"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("score", no_wrap=True)
    for heading in ("A", "B", "A - B", "95% interval", "p boot", "p rand"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name in names:
        score = comparison.scores[name]
        a, b = number(score.a.value, arguments), number(score.b.value, arguments)
        difference, _, low, high = (number(part or 0.0, arguments, "+") for part in score.difference)
        p_values = (p_text(p, resamples).lstrip("= ") for p in (score.p_bootstrap, score.p_randomisation))
        table.add_row(name, a, b, difference, f"{low}..{high}", *p_values)
    return table
