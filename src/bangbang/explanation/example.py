"""The example to explain, as the run's model reads it."""

from collections.abc import Sequence
from typing import NamedTuple

from bangbang.contracts import Sources
from bangbang.data import Split
from bangbang.errors import InputError
from bangbang.training import Run


class Example(NamedTuple):
    source: str
    """A text, or an image's name."""
    inputs: Sources
    """The same as `generate` takes it, alone."""
    references: Sequence[str]
    """The one that the example is made of, then others that the reward sees."""


def text_example(run: Run, source: str, reference: str) -> Example:
    if run.task.reads != "tokens":
        raise InputError(f"{run.folder}: reads {run.task.reads}, not text; choose an example by --example N")
    return Example(source, run.encode_sources([source]), [reference])


def validation_example(run: Run, number: int) -> Example:
    """The `number`-th validation row, counted from 1, with its first reference; with all, if training shows them."""
    split = run.corpus().split("valid")
    if not 1 <= number <= len(split):
        raise InputError(f"--example {number}: the validation split has examples 1 to {len(split)}")
    return row_example(run, split, number - 1)


def row_example(run: Run, split: Split, row: int) -> Example:
    """A row of a split, with the references that training would show."""
    rows = slice(row, row + 1)
    (source,), (references,) = split.sources(rows), split.references(rows)
    inputs = run.task.inputs(split, rows, run.encode_sources)
    return Example(source, inputs, references if run.config.data.all_references else references[:1])
