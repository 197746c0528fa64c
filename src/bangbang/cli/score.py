"""Score texts against references, with error bars and a signature that states every option.

HYP and every REF hold one text a line, UTF-8; an empty line is an empty text. HYP may be "-" for standard input. With
several REF files each example has several references. Scores are those of ROUGE-1.5.5 (rouge), of coco-caption with its
tokeniser (coco), of sacrebleu (bleu, chrf, ter), and error rates of strings: of words and of the symbols between blanks
(wer), of words and characters (cer).

examples:
  bangbang score outputs.txt references.txt
  bangbang score --preset duc2004 outputs.txt ref1.txt ref2.txt ref3.txt ref4.txt
  bangbang score --metric coco captions.txt refs.0 refs.1 refs.2 refs.3 refs.4 --json
  bangbang generate runs/first < inputs.txt | bangbang score --metric bleu - references.txt
"""

import argparse
import sys
from typing import TYPE_CHECKING

from bangbang.cli.metric_options import (
    add_metric_arguments,
    metric_of,
    number,
    resampling_of,
    shown_names,
    with_sentences,
)
from bangbang.cli.streams import print_json

if TYPE_CHECKING:
    from rich.table import Table

    from bangbang.metrics import Estimate

DUC2004_REFERENCES = 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("hypotheses", metavar="HYP", help="the texts to score, one a line")
    parser.add_argument("references", metavar="REF", nargs="+", help="their references, one a line")
    add_metric_arguments(parser)
    parser.add_argument("--per-example", action="store_true", help="print each example's scores too, tab-separated")


def run(arguments: argparse.Namespace) -> int:
    from bangbang.cli.metric_options import read_aligned
    from bangbang.metrics import estimates
    from bangbang.terminal import Console

    metric, resampling = metric_of(arguments), resampling_of(arguments)
    (candidates,), references = read_aligned([arguments.hypotheses], arguments.references)
    if arguments.preset == "duc2004" and len(arguments.references) != DUC2004_REFERENCES:
        found = len(arguments.references)
        print(f"bangbang: note: DUC-2004 has {DUC2004_REFERENCES} references, here there are {found}", file=sys.stderr)
    with Console(stderr=True).status(f"scoring {len(candidates):,} texts"):
        references = [with_sentences(texts, arguments) for texts in references]
        statistics = metric.statistics(with_sentences(candidates, arguments), references)
        scores = dict(zip(metric.names, estimates(metric, statistics, resampling), strict=True))
    names = shown_names(metric, arguments)
    rows = metric.per_example(statistics).tolist() if arguments.per_example else []
    signature = f"{metric.signature}|{resampling.signature}"
    if arguments.json:
        print_json(_report(arguments.metric, signature, len(candidates), scores, list(metric.names), rows))
        return 0
    for index, row in enumerate(rows, 1):
        shown = [number(value, arguments) for name, value in zip(metric.names, row, strict=True) if name in names]
        print(index, *shown, sep="\t")
    console = Console()
    console.print(_table({name: scores[name] for name in names}, len(candidates), arguments))
    console.print(signature, soft_wrap=True, highlight=False, markup=False)
    return 0


def _report(
    metric: str,
    signature: str,
    examples: int,
    scores: "dict[str, Estimate]",
    names: list[str],
    rows: list[list[float]],
) -> dict[str, object]:
    report: dict[str, object] = {"metric": metric, "signature": signature, "examples": examples}
    report["scores"] = {name: estimate._asdict() for name, estimate in scores.items()}
    if rows:
        report["per_example"] = [dict(zip(names, row, strict=True)) for row in rows]
    return report


def _table(scores: "dict[str, Estimate]", examples: int, arguments: argparse.Namespace) -> "Table":
    from rich.table import Table

    table = Table(title=f"{examples:,} examples", title_justify="left")
    table.add_column("score")
    for heading in ("value", "± s.e.", "95% interval"):
        table.add_column(heading, justify="right")
    for name, estimate in scores.items():
        value, error, low, high = (number(part or 0.0, arguments) for part in estimate)
        table.add_row(name, value, error, f"{low} .. {high}")
    return table
