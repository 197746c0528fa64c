"""A run's best checkpoint on the test split: decoded once, scored once, kept in the run's folder.

Shapes: N examples, S statistics.
"""

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bangbang.decoding.settings import DecodingSettings
from bangbang.errors import InputError
from bangbang.files import read_json, write_whole
from bangbang.folders import refuse_links
from bangbang.metrics import Estimate, Metric, estimates
from bangbang.metrics.metric import Array
from bangbang.tasks import RESAMPLING, signature
from bangbang.training import Run
from bangbang.training.checkpoint import MODEL, STATE
from bangbang.training.evaluation import decode_run

FORMAT = 1  # of test.json; raised when its meaning changes
KEPT = "test.json"
KEPT_BYTES = 2**30


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
    """Of each example, by the task's metric: enough for paired tests.  [N, S]"""
    scores: dict[str, Estimate]


class Evaluation(NamedTuple):
    run: LabelledRun
    checkpoint: str
    corpus: str
    """Fingerprint of the corpus whose test split this is."""
    signature: str
    sources: list[str]
    """Texts, or images' names."""
    references: list[list[str]]
    with_dup: Outputs
    without_dup: Outputs

    @property
    def sides(self) -> tuple[Outputs, Outputs]:
        return self.with_dup, self.without_dup


def evaluate(run: LabelledRun, progress: Callable[[int], None] = lambda lines: None) -> Evaluation:
    """Decode the test split by a run's best checkpoint, greedily, with and without DUP, and score each output.

    The outcome is kept in `test.json`, so that a second call reads it; a run that has changed is evaluated anew.
    `progress` hears of lines as they are decoded, each twice.
    """
    opened = Run.open(run.folder, run.cache)
    checkpoint = opened.checkpoint("best")
    metric = opened.task.metric
    identity = identity_of(opened, checkpoint, metric)
    kept = read_kept(run, identity, metric)
    if kept is None:
        kept = decode(run, opened, checkpoint, metric, progress)
        keep(kept, identity)
    else:
        progress(2 * len(kept.sources))
    return kept


def lines_to_decode(run: LabelledRun) -> int:
    """How many lines `progress` will hear of; 0 where the run does not say."""
    splits = Run.open(run.folder).corpus_facts.get("splits")
    test = splits.get("test") if isinstance(splits, dict) else None
    rows = test.get("rows") if isinstance(test, dict) else None
    return 2 * rows if isinstance(rows, int) else 0


def ways(opened: Run) -> list[DecodingSettings]:
    """Greedy with DUP, and without."""
    return [replace(opened.config.decoding, method="greedy", dup=dup) for dup in (True, False)]


def identity_of(opened: Run, checkpoint: Path, metric: Metric) -> dict[str, Any]:
    """All that the outputs and their scores depend on."""
    data = opened.config.data
    return {
        "format": FORMAT,
        "checkpoint": checkpoint.name,
        "weights": read_json(checkpoint / STATE)["sha256"][MODEL],
        **opened.fingerprints,
        "corpus": opened.corpus_facts.get("fingerprint"),
        "lengths": [data.max_source_length, data.max_target_length],
        "decoding": [dataclasses.asdict(way) for way in ways(opened)],
        "signature": signature(metric),
    }


def decode(
    run: LabelledRun, opened: Run, checkpoint: Path, metric: Metric, progress: Callable[[int], None]
) -> Evaluation:
    corpus = opened.corpus()
    if corpus.fingerprint != opened.corpus_facts.get("fingerprint"):
        raise InputError(
            f"{run.folder}: was trained on another corpus than {corpus.folder} is now; its test split may hold what "
            "the run was trained on"
        )
    split = corpus.split("test")
    done = [decode_run(opened, split, way, done=progress) for way in ways(opened)]
    score = partial(scored, metric, references=done[0].references)
    return Evaluation(
        run,
        checkpoint.name,
        corpus.fingerprint,
        signature(metric),
        done[0].sources,
        done[0].references,
        *(score(texts=each.outputs) for each in done),
    )


def scored(metric: Metric, texts: list[str], references: Sequence[Sequence[str]]) -> Outputs:
    return outputs_of(metric, texts, metric.statistics(texts, references))


def outputs_of(metric: Metric, texts: list[str], statistics: Array) -> Outputs:
    statistics = np.ascontiguousarray(statistics)  # sums go by memory order: kept or new, they are equal to the bit
    found = estimates(metric, statistics, RESAMPLING)
    return Outputs(texts, statistics, dict(zip(metric.names, found, strict=True)))


def keep(evaluation: Evaluation, identity: Mapping[str, Any]) -> None:
    folder = evaluation.run.folder
    refuse_links(folder, KEPT)
    record = {
        **identity,
        "sources": evaluation.sources,
        "references": evaluation.references,
        **{
            name: {
                "scores": {score: estimate._asdict() for score, estimate in side.scores.items()},
                "outputs": side.texts,
                "statistics": side.statistics.tolist(),
            }
            for name, side in zip(("with_dup", "without_dup"), evaluation.sides, strict=True)
        },
    }
    try:
        write_whole(folder / KEPT, json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")
    except OSError as error:
        raise InputError(f"{folder / KEPT}: cannot be written ({error.strerror})") from None


def read_kept(run: LabelledRun, identity: Mapping[str, Any], metric: Metric) -> Evaluation | None:
    """What an earlier call kept, if it is of this very checkpoint, corpus, decoding and metric."""
    path = run.folder / KEPT
    if not path.is_file():
        return None
    try:
        record = read_json(path, KEPT_BYTES)
        if any(record[name] != value for name, value in identity.items()):
            return None
        sources, references = record["sources"], record["references"]
        sides = [read_side(record[name], len(sources), metric) for name in ("with_dup", "without_dup")]
        if not are_texts(sources) or len(references) != len(sources) or not all(map(are_texts, references)):
            return None
    except (InputError, LookupError, TypeError, ValueError):
        return None  # damaged, or of another version
    return Evaluation(run, identity["checkpoint"], identity["corpus"], signature(metric), sources, references, *sides)


def are_texts(found: Any) -> bool:
    """Whether this is a list of texts, and not an empty one."""
    return isinstance(found, list) and bool(found) and all(isinstance(text, str) for text in found)


def read_side(record: Mapping[str, Any], count: int, metric: Metric) -> Outputs:
    texts, statistics = record["outputs"], np.array(record["statistics"], dtype=np.float64)
    if not are_texts(texts) or len(texts) != count:
        raise ValueError("not one text for each example")
    if statistics.ndim != 2 or len(statistics) != count or not np.isfinite(statistics).all():
        raise ValueError("not one row of numbers for each example")
    return outputs_of(metric, texts, statistics)
