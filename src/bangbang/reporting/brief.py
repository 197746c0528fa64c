"""A report in a screen: what was reached, greedily and by the best decoder, and outputs side by side."""

import shutil
import textwrap
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from bangbang.metrics import Estimate
from bangbang.reporting.examples import evenly
from bangbang.reporting.results import Results, Row, Sample
from bangbang.reporting.terminal import new_table, with_error, with_p
from bangbang.tasks import shown, with_errors
from bangbang.tasks import title as title_of
from bangbang.training import Run

OUTPUTS = 10
SOURCE_CHARACTERS = 160


def brief(results: Results, run: Run) -> RenderableType:
    """The answer, a table, ten examples; `run` is one of those that are compared, whose corpus has the baseline."""
    headline, *_ = results.answer or [""]
    return Group(
        brief_table(results, baselines(results, run)),
        Text(headline, style="bold"),
        Text(f"\n{OUTPUTS} of the {results.examples:,} test examples, in equal steps; outputs are greedy:\n"),
        *(side_by_side(sample) for sample in evenly(results.samples, OUTPUTS)),
    )


def baselines(results: Results, run: Run) -> dict[str, Estimate]:
    """What needs no training, such as the first words of each source, by the main score."""
    corpus = run.corpus()
    split, everything = corpus.split("test"), slice(None)
    written = run.task.baselines(corpus.split("train"), split.sources(everything))
    references = split.references(everything)
    return {name: with_errors(run.task.metric, texts, references)[results.main] for name, texts in written.items()}


def brief_table(results: Results, untrained: dict[str, Estimate]) -> RenderableType:
    """The main score of each row, greedily and in the way that validation likes best."""
    first, main = results.baselines[0], results.main
    title = f"{title_of(main)} of {results.examples:,} test examples, ± standard error"
    grid = new_table(title, ["greedy", f"over {first}", "best decoder", f"over {first}'s best", "minutes"])
    for name, found in untrained.items():
        error = "" if found.standard_error is None else f" ±{shown(main, found.standard_error)}"
        grid.add_row(Text(name), Text(shown(main, found.value) + error), *[""] * 4)
    for row in results.rows:
        grid.add_row(Text(row.label), *map(Text, cells(results, row)))
    return grid


def cells(results: Results, row: Row) -> list[str]:
    first, main = results.baselines[0], results.main
    best = row.decoded[row.best.decoder]
    over, over_best = row.with_dup.against.get(first), row.best.against.get(first)
    return [
        with_error(main, row.with_dup.scores[main]),
        "" if over is None else with_p(results, main, over[main]),
        f"{with_error(main, best.scores[main])}\n{best.decoding}",
        "" if over_best is None else with_p(results, main, over_best[main]),
        f"{row.total('seconds') / 60:.1f}",
    ]


def side_by_side(sample: Sample) -> Text:
    """An example's source, its reference and what each row wrote."""
    width = max(40, shutil.get_terminal_size().columns)
    lines: Sequence[tuple[str, str]] = [
        ("source", textwrap.shorten(sample.source, SOURCE_CHARACTERS, placeholder=" …")),
        *(("reference", text) for text in sample.references),
        *sample.outputs.items(),
    ]
    label = max(len(name) for name, _ in lines)
    told = Text()
    for place, (name, text) in enumerate(lines):
        wrapped = textwrap.fill(f"{name:{label}}  {text}", width, subsequent_indent=" " * (label + 2))
        told.append(wrapped + "\n", style="dim" if place == 0 else "")
    return told
