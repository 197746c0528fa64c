"""Decode a split of a run's corpus and score it; of text, beside a baseline that takes the first words of the source.

examples:
  bangbang evaluate runs/debian --split test
  bangbang evaluate runs/debian --split test --json
  bangbang evaluate runs/debian --side-by-side          greedy, beam and MBR, each with and without DUP
  bangbang evaluate runs/debian --mbr 32 --utility rouge-l --temperature 0.6
  bangbang evaluate runs/debian --beam 8 --samples 20 --out outputs.txt
  bangbang evaluate runs/one runs/two runs/three --ensemble

Scores are against all references, ± the bootstrap's standard error: ROUGE-1.5.5 F1 × 100 of text; of captions
CIDEr-D, coco-caption's ROUGE-L and BLEU-4 × 100, and pyrouge's ROUGE-L × 100; of transductions error rates × 100.
"""

import argparse
import sys
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bangbang.cli.generate import add_decoding_arguments, decoding_config
from bangbang.cli.numbers import whole
from bangbang.cli.runs import add_run_arguments, open_runs
from bangbang.cli.streams import print_json
from bangbang.decoding.settings import Method, by_method, describe

if TYPE_CHECKING:
    from rich.console import RenderableType

    from bangbang.decoding.settings import DecodingSettings
    from bangbang.training import Run
    from bangbang.training.evaluation import Decoded


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run_arguments(parser)
    parser.add_argument("--split", default="test", help="train, valid or test (default test)")
    parser.add_argument("--limit", type=whole(), default=0, metavar="N", help="only the first N rows of the split")
    parser.add_argument(
        "--cache", type=Path, metavar="FOLDER", help="where to make the run's corpus again, if it is gone"
    )
    add_decoding_arguments(parser)
    parser.add_argument("--side-by-side", action="store_true", help="greedy, beam and MBR, each with and without DUP")
    parser.add_argument("--samples", type=whole(), default=3, metavar="N", help="example outputs to show (default 3)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="also write the outputs, one a line")
    parser.add_argument("--json", action="store_true", help="print the scores as JSON")


def systems(run: "Run", base: "DecodingSettings", side_by_side: bool) -> dict[str, "DecodingSettings"]:
    """What is decoded, by name."""
    from bangbang.training.utilities import settled

    chosen = [base]
    if side_by_side:
        methods: tuple[Method, ...] = ("greedy", "beam", "mbr")
        chosen = [replace(by_method(base, method), dup=dup) for method in methods for dup in (False, True)]
    return {describe(each): each for each in (settled(run, each) for each in chosen)}


def run(arguments: argparse.Namespace) -> int:
    from bangbang.errors import InputError
    from bangbang.files import check_place, write_output
    from bangbang.tasks import signature, with_errors
    from bangbang.training.utilities import run_utility

    opened = open_runs(arguments)
    checkpoint = opened.checkpoint_name(arguments.checkpoint)
    chosen = systems(opened, decoding_config(opened.config.decoding, arguments), arguments.side_by_side)
    if arguments.out and len(chosen) > 1:
        raise InputError("--out takes the outputs of one way of decoding; leave out --side-by-side")
    if arguments.out:
        check_place(arguments.out)
    for each in chosen.values():
        run_utility(opened, each)  # what is wrong with one is said before anything is decoded
    corpus = opened.corpus()
    split, metric = corpus.split(arguments.split), opened.task.metric
    decoded = decode_all(opened, split, chosen, arguments)
    last = list(decoded.values())[-1]
    outputs = {name: each.outputs for name, each in decoded.items()}
    outputs |= opened.task.baselines(corpus.split("train"), last.sources)
    scores = {name: with_errors(metric, texts, last.references) for name, texts in outputs.items()}
    if arguments.out:
        write_output(arguments.out, "".join(output + "\n" for output in last.outputs))
    result: dict[str, Any] = {
        "run": " + ".join(map(str, arguments.runs)),
        "checkpoint": checkpoint,
        "split": arguments.split,
        "examples": len(last.sources),
        "unknown": unknown_tokens(opened, last),
        "caveat": opened.caveat,
        "signature": signature(metric),
        "decoding": {name: asdict(each) for name, each in chosen.items()},
        "scores": {name: {metric: each._asdict() for metric, each in row.items()} for name, row in scores.items()},
    }
    if arguments.json:
        print_json(result, indent=1)
        return 0
    from bangbang.terminal import Console

    console = Console()
    console.print(table(result))
    if unknown := result["unknown"]["tokens"]:
        told = f"{unknown:,} source tokens, in {result['unknown']['examples']:,} examples, are unknown to the run"
        console.print(told, highlight=False, soft_wrap=True)
    if opened.caveat:
        console.print(opened.caveat, highlight=False, soft_wrap=True)
    console.print(result["signature"], style="dim", highlight=False, soft_wrap=True)
    show_samples(console, last, arguments.samples)
    console.print(f"\nlook at {opened.folder}: samples/, metrics.jsonl, tensorboard/", highlight=False, soft_wrap=True)
    return 0


def unknown_tokens(opened: "Run", decoded: "Decoded") -> dict[str, int]:
    """Of texts: the tokens that training has not seen; images have none."""
    tokens, examples = opened.unknown_in(decoded.sources) if opened.task.reads == "tokens" else (0, 0)
    return {"tokens": tokens, "examples": examples}


def decode_all(
    opened: Any, split: Any, chosen: dict[str, "DecodingSettings"], arguments: argparse.Namespace
) -> dict[str, "Decoded"]:
    """The outputs of every way of decoding, with a progress bar."""
    from rich.markup import escape
    from rich.progress import Progress

    from bangbang.terminal import Console
    from bangbang.training.evaluation import decode_run

    decoded = {}
    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        for name, config in chosen.items():
            task = progress.add_task(escape(f"decoding {arguments.split}: {name}"), total=arguments.limit or len(split))
            decoded[name] = decode_run(
                opened,
                split,
                config,
                arguments.checkpoint,
                arguments.limit,
                arguments.seed,
                done=partial(progress.advance, task),
            )
    return decoded


def table(result: dict[str, Any]) -> "RenderableType":
    from rich.table import Table
    from rich.text import Text

    from bangbang.tasks import shown

    title = f"{result['run']}, {result['checkpoint']}: {result['split']}, {result['examples']:,} examples"
    grid = Table(title=Text(title, "table.title"), title_justify="left")
    grid.add_column("")
    metrics = list(next(iter(result["scores"].values())))
    for metric in metrics:
        grid.add_column(Text(metric), justify="right")
    for name, row in result["scores"].items():
        bars = ((metric, row[metric]["value"], row[metric]["standard_error"]) for metric in metrics)
        grid.add_row(Text(name), *(f"{shown(metric, value)} ±{shown(metric, error)}" for metric, value, error in bars))
    return grid


def show_samples(console: Any, decoded: "Decoded", count: int) -> None:
    """Examples spread evenly over the split."""
    from rich.text import Text

    stride = max(1, len(decoded.outputs) // max(1, count))
    for row in range(0, len(decoded.outputs), stride)[:count]:
        source = decoded.sources[row]
        console.print(Text(f"\nsource     {source[:200]}{'…' if len(source) > 200 else ''}", style="dim"))
        for reference in decoded.references[row]:
            console.print(Text(f"reference  {reference}"))
        console.print(Text(f"output     {decoded.outputs[row]}", style="bold"))
