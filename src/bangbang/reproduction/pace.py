"""How many steps give a method as many minutes as the longest of the others, once these are done.

Minutes of a run that starts from another one's weights include that one's.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from bangbang import config as configs
from bangbang.reproduction.methods import Method
from bangbang.reproduction.standing import standing
from bangbang.training import retention

if TYPE_CHECKING:
    from bangbang.reproduction.plan import Training


def paced_steps(method: Method, others: Sequence["Training"], runs: Path) -> int | None:
    """The steps of a method that goes by the clock; None while the others are not done.

    Runs of the method that have begun, of whatever seed, have decided it.
    """
    begun = begun_steps(runs, method.name)
    if begun is not None:
        return begun
    found = {training.name: standing(training.folder, training.config) for training in others}
    if not all(each.done for each in found.values()):
        return None
    paced = [training for training in others if training.method.name == method.pace]
    seconds = {name: each.seconds for name, each in found.items()}
    steps = fmean(found[training.name].step for training in paced)
    longest = longest_seconds(others, seconds)
    return max(round(steps), round(steps * longest / fmean(seconds[training.name] for training in paced)))


def begun_steps(runs: Path, name: str) -> int | None:
    for folder in sorted(runs.glob(f"{name}-seed*")):
        if retention.listed(folder / "checkpoints"):
            return configs.read(folder / "config.toml").training.max_steps
    return None


def longest_seconds(trainings: Sequence["Training"], seconds: Mapping[str, float]) -> float:
    """The largest mean over seeds of what a method took, with what it started from."""
    totals: dict[str, list[float]] = {}
    for training in trainings:
        before = seconds[training.after] if training.after else 0.0
        totals.setdefault(training.method.name, []).append(before + seconds[training.name])
    return max(map(fmean, totals.values()))
