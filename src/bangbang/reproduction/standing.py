"""Where a run stands, by what is in its folder."""

import json
from pathlib import Path
from typing import NamedTuple

from bangbang.config import Config
from bangbang.errors import InputError
from bangbang.training import shelf
from bangbang.training.stopping import is_done

TAIL_BYTES = 2**16


class Standing(NamedTuple):
    """What the newest whole checkpoint says."""

    step: int = 0
    seconds: float = 0.0
    done: bool = False


class Latest(NamedTuple):
    """What the last lines of metrics.jsonl say."""

    step: int = 0
    score: float | None = None
    """The last validation's, by the metric that chooses the checkpoint."""


def standing(folder: Path, config: Config) -> Standing:
    try:
        newest = shelf.newest_whole(folder / "checkpoints")
    except InputError:  # all damaged: training will say so
        newest = None
    if newest is None:
        return Standing()
    progress = newest.state.progress
    return Standing(progress.step, progress.seconds, is_done(config, progress))


def latest(folder: Path, metric: str) -> Latest:
    step, score = 0, None
    for line in last_lines(folder / "metrics.jsonl"):
        try:
            record = json.loads(line)
            step = int(record["step"])
            score = float(record[metric]) if record["kind"] == "valid" else score
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            continue  # the line is being written, or damaged
    return Latest(step, score)


def last_lines(path: Path, count: int | None = None) -> list[str]:
    """The last lines of a file, as far as they are in its last 64 KB."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - TAIL_BYTES))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return []
    return lines if count is None else lines[-count:]
