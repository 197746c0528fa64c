"""Where a run stands, by its newest whole checkpoint."""

from pathlib import Path
from typing import NamedTuple

from bangbang.config import Config
from bangbang.errors import InputError
from bangbang.training import retention
from bangbang.training.stopping import is_done


class Standing(NamedTuple):
    """What the newest whole checkpoint says."""

    step: int = 0
    seconds: float = 0.0
    done: bool = False


def standing(folder: Path, config: Config) -> Standing:
    try:
        newest = retention.newest_whole(folder / "checkpoints")
    except InputError:  # all damaged: training will say so
        newest = None
    if newest is None:
        return Standing()
    progress = newest.state.progress
    return Standing(progress.step, progress.seconds, is_done(config, progress))
