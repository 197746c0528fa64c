"""Read lines, write what a run's model generates for them: line in, line out. Or caption image files.

examples:
  bangbang generate runs/debian < in.txt > out.txt
  bangbang generate runs/debian --method beam --beam 8 < in.txt
  bangbang generate runs/debian --method beam --nbest 3 --scores < in.txt
  bangbang generate runs/debian --method sample --temperature 0.8 --top-p 0.9 --seed 7 < in.txt
  bangbang generate runs/debian --mbr 32 --utility rouge-l --temperature 0.6 < in.txt
  bangbang generate runs/debian --written < in.txt
  bangbang generate runs/debian --json < in.txt
  bangbang generate runs/one runs/two runs/three --ensemble --beam 5 < in.txt
  bangbang generate runs/flickr8k --image photo.jpg other.png
  bangbang generate runs/mle runs/spg --image photos/ --html gallery.html

Lines are read and written as UTF-8, whatever the locale is; bytes that are no UTF-8 are replaced.
A line feed or a tab in an output is written as a blank, other control characters as escapes such as \\x1b; --json has
the text as it is. An empty line gives an empty line; a line over the model's input length is cut. With --nbest above
1, and with --scores, each output is tab-separated: line number (from 1, with --nbest only), score (with --scores
only), text.
--ensemble writes by the mean of several runs' distributions; they must have one vocabulary.
--mbr draws samples and writes the one that the others resemble most, by the utility: a reward (rouge-l, rouge-n, bleu,
gleu, cider-d, edit-distance), all pairs at once, or any metric's score (rouge-2, chrf, ...), which is slow.
For images it is: file, run (if there are several), score (with --scores only), text.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from bangbang.cli.numbers import seed, whole
from bangbang.cli.runs import add_run_arguments, open_runs
from bangbang.cli.streams import print_json, print_line, standard_input, write_utf8
from bangbang.decoding.settings import by_method
from bangbang.errors import InputError

if TYPE_CHECKING:
    from bangbang.decoding import Hypothesis
    from bangbang.decoding.settings import DecodingSettings
    from bangbang.training import Run

LINES_AT_ONCE = 1024
# how each method is asked for, and the options that only some of them heed
WAYS = {"beam": "--beam K", "sample": "--method sample", "mbr": "--mbr N"}
HEEDED_BY = {
    "beam_size": ("beam", "mbr"),
    "length_penalty": ("beam", "mbr"),
    "mbr_samples": ("mbr",),
    "utility": ("mbr",),
    "temperature": ("sample", "mbr"),
    "top_k": ("sample", "mbr"),
    "top_p": ("sample", "mbr"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run_arguments(parser, ", or with --image")
    images = parser.add_argument_group("images")
    images.add_argument(
        "--image", type=Path, nargs="+", metavar="FILE", help="caption these images, or folders of them"
    )
    images.add_argument("--html", type=Path, metavar="PAGE", help="write a page with the images and what each run says")
    images.add_argument(
        "--encoder",
        metavar="NAME",
        help="what makes the features, if the run's own do not say, or were made by a model of hf: or timm:",
    )
    add_decoding_arguments(parser)
    parser.add_argument(
        "--cache", type=Path, metavar="FOLDER", help="where to make the run's corpus again, if --utility needs one"
    )
    parser.add_argument("--nbest", type=whole(1), default=1, metavar="N", help="outputs per line, best first (1)")
    parser.add_argument("--scores", action="store_true", help="write each output's score before it")
    parser.add_argument(
        "--written", action="store_true", help="as people write it, with capitals and marks closed up; not to be scored"
    )
    parser.add_argument("--json", action="store_true", help="write one JSON object per line")


def add_decoding_arguments(parser: argparse.ArgumentParser) -> None:
    """What `generate` and `evaluate` share; what is not given is as in the run's config."""
    parser.add_argument("--checkpoint", default="best", metavar="C", help="best (default), last, or a step number")
    parser.add_argument("--method", choices=("greedy", "beam", "sample", "mbr"))
    parser.add_argument(
        "--beam", dest="beam_size", type=int, metavar="K", help="beam size (implies --method beam, unless with --mbr)"
    )
    parser.add_argument("--length-penalty", type=float, metavar="A", help="beam scores are log p / length^A")
    parser.add_argument(
        "--mbr", dest="mbr_samples", type=int, metavar="N", help="minimum Bayes risk among N samples, and a --beam's"
    )
    parser.add_argument("--utility", metavar="NAME", help="for --mbr: a reward or score (default: the task's main one)")
    parser.add_argument("--temperature", type=float, metavar="T", help="for --method sample (1) and --mbr (0.6)")
    parser.add_argument("--top-k", type=int, metavar="K", help="sample among the K likeliest tokens")
    parser.add_argument("--top-p", type=float, metavar="P", help="sample among the likeliest that together have P")
    parser.add_argument("--seed", type=seed, default=1, help="of samples (default 1)")
    parser.add_argument(
        "--dup", action=argparse.BooleanOptionalAction, help="forbid the same token twice in a row (the paper's W·DUP)"
    )
    parser.add_argument("--unknown", action=argparse.BooleanOptionalAction, help="allow <unk> in the output")
    parser.add_argument("--batch-size", type=int, metavar="B", help="lines decoded together")


def decoding_config(config: "DecodingSettings", arguments: argparse.Namespace) -> "DecodingSettings":
    """The run's decoding settings, changed by the options given."""
    from dataclasses import fields, replace

    names = [field.name for field in fields(config)]
    given = {name: getattr(arguments, name) for name in names if getattr(arguments, name, None) is not None}
    if "method" not in given and ("mbr_samples" in given or "beam_size" in given):
        given["method"] = "mbr" if "mbr_samples" in given else "beam"
    method = given.pop("method", config.method)
    every_method = getattr(arguments, "side_by_side", False)
    for name in given:
        heeding = HEEDED_BY.get(name, (method,))
        if method not in heeding and not every_method:
            option = {"beam_size": "beam", "mbr_samples": "mbr"}.get(name, name.replace("_", "-"))
            ways = " or ".join(WAYS[each] for each in heeding)
            raise InputError(f"--{option} changes nothing where the method is {method}; ask for {ways}")
    if method == "mbr" and "beam_size" in given:
        given["mbr_beam"] = given.pop("beam_size")
    return replace(by_method(config, method), **given)


def windows(lines: Iterator[str], size: int) -> Iterator[list[str]]:
    window: list[str] = []
    for line in lines:
        window.append(line)
        if len(window) == size:
            yield window
            window = []
    if window:
        yield window


def read_lines(stream: BinaryIO) -> Iterator[str]:
    """Lines as text; only a line feed ends a line, and bytes that are no UTF-8 are replaced."""
    for line in stream:
        yield line.decode("utf-8", "replace").removesuffix("\n").removesuffix("\r")


def run(arguments: argparse.Namespace) -> int:
    write_utf8()
    if arguments.image:
        from bangbang.cli import pictures

        return pictures.run(arguments)
    if not arguments.ensemble:
        check_runs(arguments.runs)
    if arguments.html or arguments.encoder or (len(arguments.runs) > 1 and not arguments.ensemble):
        raise InputError(
            "--html, --encoder and several runs are for images: add --image FILE; several runs as one: add --ensemble"
        )
    stream = standard_input()  # before anything is loaded
    from bangbang.decoding import decoding_device, generate
    from bangbang.training.utilities import run_utility

    run_folder = open_runs(arguments)
    if run_folder.task.reads != "tokens":
        raise InputError(f"{run_folder.folder}: reads images, not text: add --image FILE")
    decoding = decoding_config(run_folder.config.decoding, arguments)
    device, data, number, utility = decoding_device(), run_folder.config.data, 0, run_utility(run_folder, decoding)
    model, length = run_folder.load_model(arguments.checkpoint, device), data.max_target_length
    shown = texts_of(run_folder, arguments.written)
    for lines in windows(read_lines(stream), LINES_AT_ONCE):
        ids = run_folder.encode_sources(lines)
        found = generate(model, ids, decoding, length, arguments.nbest, arguments.seed, number, device, utility=utility)
        for line, hypotheses in zip(lines, found, strict=True):
            number += 1
            texts = [shown(each) if line.strip() else "" for each in hypotheses]
            write(number, hypotheses, texts, arguments)
        sys.stdout.flush()
    return 0


def check_runs(runs: Sequence[Path]) -> None:
    """What stands after a run and is none is often what should be read."""
    for path in runs[1:]:
        if not path.is_dir():
            way = f"generate {runs[0]} < {path}" if path.is_file() else f"generate {runs[0]} < FILE"
            raise InputError(f"{str(path)[:80]!r} is no run; texts are read from standard input: bangbang {way}")


def texts_of(run: "Run", written: bool) -> Callable[["Hypothesis"], str]:
    """What is put out for a hypothesis."""
    if written:
        return lambda hypothesis: run.written(run.vocabulary.decode(hypothesis.tokens))
    return lambda hypothesis: run.vocabulary.decode(hypothesis.tokens)


def write(number: int, hypotheses: Sequence["Hypothesis"], texts: Sequence[str], arguments: argparse.Namespace) -> None:
    if arguments.json:
        outputs: list[dict[str, Any]] = [
            {"text": text, "score": each.score, "log_prob": each.log_prob}
            for text, each in zip(texts, hypotheses, strict=True)
        ]
        print_json({"line": number, "outputs": outputs})
        return
    for text, each in zip(texts, hypotheses, strict=True):
        columns = [str(number)] if arguments.nbest > 1 else []
        columns += [f"{each.score:.4f}"] if arguments.scores else []
        print_line(*columns, text)
