"""A run's best checkpoint on the test split: decoded once in each way that is asked for, scored once, kept.

Shapes: N examples, S statistics.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, get_args

import numpy as np

from bangbang.contracts import Task
from bangbang.decoding.settings import DecodingSettings, Method, by_method, describe
from bangbang.errors import InputError
from bangbang.files import read_json
from bangbang.metrics import Estimate, Metric, SacreBleu, estimates
from bangbang.metrics.metric import Array
from bangbang.reporting.kept import FORMAT, Kept, Written, key_of
from bangbang.tasks import RESAMPLING, quick, signature
from bangbang.tasks.scores import Joined
from bangbang.training import Run
from bangbang.training.checkpoint import MODEL, STATE
from bangbang.training.evaluation import decode_run

GREEDY: Method = "greedy"
OWN = "own"
METHODS: dict[str, Method] = {name: name for name in get_args(Method)}
DECODERS = (*METHODS, OWN)
"""What `--decoders` may name: the methods of decoding with a run's own sizes, and its own way."""
VALIDATION_EXAMPLES = 500  # by which the best of several ways is chosen


class LabelledRun(NamedTuple):
    """A run and the row of the table that it belongs to."""

    folder: Path
    label: str
    """Such as "MLE" or "SPG 0.4"; runs of other seeds share it."""
    cache: Path | None = None
    """Where its corpus may be made again, if it is gone."""


class Outputs(NamedTuple):
    """What a run wrote for the test split, in one way of decoding."""

    texts: list[str]
    statistics: Array
    """Of each example, by the report's metric: enough for paired tests.  [N, S]"""
    scores: dict[str, Estimate]
    cut: Sequence[bool] = ()
    """Whether each output was cut at the length limit."""
    decoding: str = ""
    """The way, as tables name it."""
    validation: float | None = None
    """The main score of validation examples; None where there is one way alone."""


class Evaluation(NamedTuple):
    run: LabelledRun
    checkpoint: str
    corpus: str
    """Fingerprint of the corpus whose test split this is."""
    sources: list[str]
    """Texts, or images' names."""
    references: list[list[str]]
    with_dup: Outputs
    """Greedily, with DUP: what rows are judged by first."""
    without_dup: Outputs
    further: Mapping[str, Outputs] = MappingProxyType({})
    """By decoder, those beside the greedy one."""
    spell: Callable[[str], str] = str
    """An output as people write it, as far as the run knows."""

    @property
    def decoded(self) -> dict[str, Outputs]:
        """By decoder, the greedy one first."""
        return {GREEDY: self.with_dup, **self.further}

    def written(self, row: int) -> str:
        """The greedy output for an example, as people write it."""
        return self.spell(self.with_dup.texts[row])


def other_metric(task: Task) -> Metric:
    """A metric of another family, which no reward here pays: chrF, or BLEU where chrF is the task's."""
    return SacreBleu("bleu" if "chrf" in task.metric.names else "chrf")


def report_metric(task: Task) -> Metric:
    """The task's scores, then that of another family."""
    return Joined([task.metric, other_metric(task)])


def evaluate(
    run: LabelledRun, decoders: Sequence[str] = (GREEDY,), progress: Callable[[int], None] = lambda lines: None
) -> Evaluation:
    """Decode the test split by a run's best checkpoint in every way that is asked for, and score each output.

    Greedily with DUP and without is always among them. Of several decoders, validation examples are decoded too. The
    outcome is kept in `test.json`, so that a second call reads it; a run that has changed is evaluated anew.
    `progress` hears of lines as they are decoded, `lines_to_decode` of them.
    """
    opened = Run.open(run.folder, run.cache)
    checkpoint = opened.checkpoint("best")
    metric = report_metric(opened.task)
    kept = Kept.read(run.folder, identity_of(opened, checkpoint, metric))
    chosen = ways(opened, decoders)
    work = Work(opened, kept, metric, progress)
    for name, way in chosen.items():
        work.write(way)
        if name and len(chosen) > 2:
            work.validate(way)
    outputs = {name: outputs_from(metric, kept.ways[key_of(way)], describe(way)) for name, way in chosen.items()}
    greedy = outputs.pop(GREEDY), outputs.pop("")
    corpus = str(kept.identity["corpus"])
    return Evaluation(run, checkpoint.name, corpus, kept.sources, kept.references, *greedy, outputs, opened.written)


def is_kept(run: LabelledRun, decoders: Sequence[str]) -> bool:
    """Whether an earlier call has kept all that `evaluate` would decode."""
    opened = Run.open(run.folder, run.cache)
    kept = Kept.read(run.folder, identity_of(opened, opened.checkpoint("best"), report_metric(opened.task)))
    chosen = ways(opened, decoders)
    found = {name: kept.ways.get(key_of(way)) for name, way in chosen.items()}
    validated = len(chosen) > 2
    return all(way and (not name or not validated or way.validation is not None) for name, way in found.items())


def check_decoders(names: Sequence[str]) -> None:
    """An InputError for a name that is none of `DECODERS`."""
    for name in names:
        if name not in DECODERS:
            raise InputError(f"--decoders {name}: unknown; choose among {', '.join(DECODERS)}")


def ways(opened: Run, decoders: Sequence[str]) -> dict[str, DecodingSettings]:
    """By decoder, what a run decodes by; the greedy one first, and without a name the greedy one without DUP."""
    own = opened.config.decoding
    greedy = by_method(own, GREEDY)
    found = {str(GREEDY): replace(greedy, dup=True), "": replace(greedy, dup=False)}
    check_decoders(decoders)
    for name in decoders:
        found.setdefault(name, own if name == OWN else replace(by_method(own, METHODS[name]), dup=True))
    return found


def default_decoders(runs: Sequence[LabelledRun]) -> tuple[str, ...]:
    """Greedy, and the runs' own way where one of them has another."""
    own = [Run.open(run.folder).config.decoding for run in runs]
    return (GREEDY, OWN) if any(each.method != GREEDY for each in own) else (GREEDY,)


class Work:
    """Decoding that is left to do for one run."""

    def __init__(self, opened: Run, kept: Kept, metric: Metric, progress: Callable[[int], None]) -> None:
        self.opened, self.kept, self.metric, self.progress = opened, kept, metric, progress

    def write(self, way: DecodingSettings) -> None:
        """The outputs of a way, unless they are kept."""
        kept = self.kept
        if key_of(way) in kept.ways:
            self.progress(len(kept.sources))
            return
        done = decode_run(self.opened, own_split(self.opened), way, done=self.progress)
        kept.sources, kept.references = done.sources, done.references
        statistics = self.metric.statistics(done.outputs, done.references)
        kept.ways[key_of(way)] = Written(done.outputs, done.cut, statistics.tolist())
        kept.save()

    def validate(self, way: DecodingSettings) -> None:
        """The main score of validation examples, unless it is kept."""
        written = self.kept.ways[key_of(way)]
        if written.validation is not None:
            self.progress(validation_lines(self.opened))
            return
        split, task = self.opened.corpus().split("valid"), self.opened.task
        done = decode_run(self.opened, split, way, limit=min(len(split), VALIDATION_EXAMPLES), done=self.progress)
        written.validation = quick(task.metric, done.outputs, done.references)[task.main]
        self.kept.save()


def own_split(opened: Run) -> Any:
    """The test split of the very corpus that a run was trained on."""
    corpus = opened.corpus()
    if corpus.fingerprint != opened.corpus_facts.get("fingerprint"):
        raise InputError(
            f"{opened.folder}: was trained on another corpus than {corpus.folder} is now; its test split may hold what "
            "the run was trained on"
        )
    return corpus.split("test")


def lines_to_decode(run: LabelledRun, decoders: Sequence[str] = (GREEDY,)) -> int:
    """How many lines `progress` will hear of; 0 where the run does not say."""
    opened = Run.open(run.folder)
    count = len(ways(opened, decoders))
    validated = (count - 1) * validation_lines(opened) if count > 2 else 0
    return count * rows_of(opened, "test") + validated


def validation_lines(opened: Run) -> int:
    return min(VALIDATION_EXAMPLES, rows_of(opened, "valid"))


def rows_of(opened: Run, split: str) -> int:
    """As the run says; 0 where it does not."""
    splits = opened.corpus_facts.get("splits")
    found = splits.get(split) if isinstance(splits, dict) else None
    rows = found.get("rows") if isinstance(found, dict) else None
    return rows if isinstance(rows, int) else 0


def identity_of(opened: Run, checkpoint: Path, metric: Metric) -> dict[str, Any]:
    """All that the outputs of any way and their scores depend on."""
    data = opened.config.data
    return {
        "format": FORMAT,
        "checkpoint": checkpoint.name,
        "weights": weights_of(checkpoint),
        **opened.fingerprints,
        "corpus": opened.corpus_facts.get("fingerprint"),
        "lengths": [data.max_source_length, data.max_target_length],
        "signature": signature(metric),
    }


def weights_of(checkpoint: Path) -> str:
    """A hash of the weights in a checkpoint."""
    return str(read_json(checkpoint / STATE)["sha256"][MODEL])


def outputs_from(metric: Metric, written: Written, decoding: str) -> Outputs:
    found = outputs_of(metric, written.outputs, np.array(written.statistics, dtype=np.float64))
    return found._replace(cut=written.cut, decoding=decoding, validation=written.validation)


def outputs_of(metric: Metric, texts: list[str], statistics: Array) -> Outputs:
    statistics = np.ascontiguousarray(statistics)  # sums go by memory order: kept or new, they are equal to the bit
    found = estimates(metric, statistics, RESAMPLING)
    return Outputs(texts, statistics, dict(zip(metric.names, found, strict=True)))
