"""Which way of decoding is best for a run, by its validation split; the run's config gets it."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any, NamedTuple

from bangbang import config as configs
from bangbang.data import Split
from bangbang.decoding import decoding_device
from bangbang.decoding.exploration import Grid, explore
from bangbang.decoding.settings import DecodingSettings, by_method, describe
from bangbang.errors import InputError
from bangbang.files import write_whole
from bangbang.metrics.metric import lower_is_better
from bangbang.tasks import quick
from bangbang.training.run import Run
from bangbang.training.utilities import run_utility, settled

FORMAT = 1  # of tuned.json; raised when its meaning changes
CONFIG, TUNED = "config.toml", "tuned.json"
SPLIT = "valid"  # the test split is not to be looked at


class Trial(NamedTuple):
    """A way of decoding and its scores."""

    decoding: DecodingSettings
    scores: dict[str, float]

    def plain(self) -> dict[str, Any]:
        return {"name": describe(self.decoding), "scores": self.scores, "decoding": asdict(self.decoding)}


def tune(
    run: Run,
    split: Split,
    base: DecodingSettings,
    grid: Grid,
    metric: str,
    checkpoint: str = "best",
    limit: int = 0,
    seed: int = 1,
    done: Callable[[int], object] = lambda lines: None,
) -> list[Trial]:
    """Every way of the grid with its scores on a split's first `limit` rows (0: all).

    The best by `metric` comes first and, of equals, the cheaper.
    """
    task = run.task
    if metric not in task.metric.names:
        raise InputError(f"--metric {metric}: is no score of this task; choose one of {', '.join(task.metric.names)}")
    risk = settled(run, by_method(base, "mbr"))
    utility = run_utility(run, risk) if grid.of_samples(risk) else None
    device, length = decoding_device(), run.config.data.max_target_length
    rows = slice(0, limit or len(split))
    inputs, base = task.inputs(split, rows, run.encode_sources), replace(base, utility=risk.utility)
    model = run.load_model(checkpoint, device)
    found = explore(model, inputs, base, grid, length, utility, seed, device, done)
    references = split.references(rows)
    texts = {way: [run.vocabulary.decode(each.tokens) for each in best] for way, best in found.items()}
    trials = [Trial(way, quick(task.metric, outputs, references)) for way, outputs in texts.items()]
    sign = 1.0 if metric in lower_is_better(task.metric) else -1.0
    return sorted(trials, key=lambda trial: sign * trial.scores[metric])


def chosen(trials: Sequence[Trial], base: DecodingSettings) -> DecodingSettings:
    """The method of the best trial; beams and minimum Bayes risk get their best settings, whichever of them it is."""
    best: dict[str, DecodingSettings] = {}
    for trial in trials:
        best.setdefault(trial.decoding.method, trial.decoding)
    decoding = replace(base, method=trials[0].decoding.method)
    if beam := best.get("beam"):
        decoding = replace(decoding, beam_size=beam.beam_size, length_penalty=beam.length_penalty)
    if risk := best.get("mbr"):
        samples, heat, utility = risk.mbr_samples, risk.temperature, risk.utility
        decoding = replace(decoding, mbr_samples=samples, temperature=heat, utility=utility)
    return decoding


def keep(run: Run, decoding: DecodingSettings, record: dict[str, Any]) -> None:
    """Write the decoding into the run's config, and beside it what was tried."""
    try:
        write_whole(run.folder / TUNED, json.dumps({"format": FORMAT, **record}, indent=1) + "\n")
        write_whole(run.folder / CONFIG, configs.dumps(replace(run.config, decoding=decoding)))
    except OSError as error:
        raise InputError(f"{run.folder}: cannot be written ({error.strerror})") from None
