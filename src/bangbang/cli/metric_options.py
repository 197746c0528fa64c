"""What `bangbang score` and `bangbang compare` share: the options of a metric, and how files of texts are read."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from bangbang import registry
from bangbang.cli.numbers import seed, whole
from bangbang.cli.streams import standard_input
from bangbang.errors import InputError
from bangbang.metrics.settings import MetricSettings, RougeSettings
from bangbang.plain_files import open_plain

if TYPE_CHECKING:
    from bangbang.metrics import Metric, Resampling


STDIN = "-"
OPENED_BY_SHELL = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")


def read_lines(path: str) -> list[str]:
    """The lines of a UTF-8 file, or of standard input for "-". A line ends at a line feed, and drops one \\r there."""
    if path == STDIN:
        data = standard_input().read()
    else:
        try:
            with open_named(Path(path)) as file:
                data = file.read()
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}") from error
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return [_decoded(line, path, number) for number, line in enumerate(lines, 1)]


def open_named(path: Path) -> BinaryIO:
    """A file that the command line names, or what a shell has opened: `<(command)` is /dev/fd/63, say."""
    return path.open("rb") if str(path).startswith(OPENED_BY_SHELL) else open_plain(path)


def _decoded(line: bytes, path: str, number: int) -> str:
    try:
        return line.removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}, line {number}: byte {error.start + 1} is not UTF-8; convert the file, for example with iconv"
        ) from error


def read_aligned(
    candidate_paths: Sequence[str], reference_paths: Sequence[str]
) -> tuple[list[list[str]], list[list[str]]]:
    """Each system's candidates, and the references of each example; all files must have as many lines."""
    paths = [*candidate_paths, *reference_paths]
    if paths.count(STDIN) > 1:
        raise InputError('only one file can be "-", standard input')
    files = [read_lines(path) for path in paths]
    for path, lines in zip(paths, files, strict=True):
        if len(lines) != len(files[0]):
            raise InputError(f"{paths[0]} has {len(files[0])} lines but {path} has {len(lines)}; they must go together")
    if not files[0]:
        raise InputError(f"{paths[0]} has no lines")
    systems = files[: len(candidate_paths)]
    return systems, [list(texts) for texts in zip(*files[len(candidate_paths) :], strict=True)]


EVERY_ROUGE = ("rouge-1", "rouge-2", "rouge-3", "rouge-4", "rouge-l", "rouge-w-1.2", "rouge-s", "rouge-su")


class RougePreset(NamedTuple):
    """A published way to run ROUGE-1.5.5; `part` is what was read from its output."""

    max_bytes: int | None
    metrics: tuple[str, ...]
    part: str


# both stem: -m
PRESETS = {"duc2004": RougePreset(75, EVERY_ROUGE[:6], "recall"), "pyrouge": RougePreset(None, EVERY_ROUGE, "")}


def add_metric_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that both verbs share."""
    names = registry.names("metrics")
    parser.add_argument("--metric", choices=names, default=names[0], help=f"which family of scores ({names[0]})")
    rouge = parser.add_argument_group("options of --metric rouge")
    rouge.add_argument("--stem", action="store_true", help="stem words, as ROUGE-1.5.5 -m does")
    rouge.add_argument("--bytes", type=whole(1), metavar="N", help="cut all texts after N bytes, as -b does")
    rouge.add_argument(
        "--multi", choices=("average", "best"), help="several references: all as one (-f A, default) or the best (-f B)"
    )
    rouge.add_argument("--rouge", metavar="NAMES", help=f"which of {','.join(EVERY_ROUGE)} (those of 1, 2, 3 and l)")
    rouge.add_argument("--sentence-break", metavar="MARK", help="what separates sentences within a line, such as <q>")
    rouge.add_argument(
        "--preset",
        choices=tuple(PRESETS),
        help="duc2004: --stem --bytes 75, recall, made for four references; pyrouge: --stem, all scores",
    )
    bars = parser.add_argument_group("error bars")
    bars.add_argument("--resamples", type=whole(2), metavar="N", help="how many bootstrap resamples (1000)")
    bars.add_argument("--seed", type=seed, metavar="N", help="of the resampling (1)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def metric_of(arguments: argparse.Namespace) -> "Metric":
    """The metric that the options name."""
    kind = settings_of(arguments)
    if kind is RougeSettings:
        from bangbang.metrics import Rouge

        preset = PRESETS.get(arguments.preset, RougePreset(None, RougeSettings.metrics, ""))
        max_bytes = preset.max_bytes if arguments.bytes is None else arguments.bytes
        stem = arguments.stem or arguments.preset is not None
        metrics = arguments.rouge.split(",") if arguments.rouge else preset.metrics
        return Rouge(stem, max_bytes, arguments.multi or "average", metrics)
    for name in ("stem", "bytes", "multi", "rouge", "sentence_break", "preset"):
        if getattr(arguments, name):
            option = name.replace("_", "-")
            raise InputError(f"--{option} is an option of --metric rouge, not of --metric {arguments.metric}")
    return kind().build()


def settings_of(arguments: argparse.Namespace) -> type[MetricSettings]:
    kind = registry.find("metrics", arguments.metric, "--metric")
    assert issubclass(kind, MetricSettings)
    return kind


def resampling_of(arguments: argparse.Namespace) -> "Resampling":
    """How the options say to resample."""
    from bangbang.metrics import Resampling

    given = {name: getattr(arguments, name) for name in ("resamples", "seed") if getattr(arguments, name) is not None}
    return Resampling(**given)


def with_sentences(texts: Sequence[str], arguments: argparse.Namespace) -> list[str]:
    """Texts with a line feed for each --sentence-break."""
    mark = arguments.sentence_break
    return [text.replace(mark, "\n") for text in texts] if mark else list(texts)


def shown_names(metric: "Metric", arguments: argparse.Namespace) -> list[str]:
    """The scores that a table shows: for DUC-2004 recall only, as it was judged."""
    preset = PRESETS.get(arguments.preset)
    return [name for name in metric.names if preset is None or name.endswith(preset.part)]


def headline(metric: "Metric", arguments: argparse.Namespace) -> str:
    """The one score that examples are ranked by."""
    names = shown_names(metric, arguments)
    usual = ("rouge-l.f1", "rouge-l.recall", "cider-d", "wer")
    return next((name for name in usual if name in names), names[-1])


def number(value: float, arguments: argparse.Namespace, sign: str = "") -> str:
    """A score as its home programs print it: sacrebleu's run to 100 and get two decimals."""
    return f"{value:{sign}.{settings_of(arguments).decimals}f}"
