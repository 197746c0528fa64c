"""Labels of rows where none are given: the objective as the paper names it, and what else tells runs apart."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bangbang import config as configs
from bangbang.config import Config
from bangbang.errors import InputError
from bangbang.reporting.evaluation import LabelledRun
from bangbang.training import Run

# settings in which two runs of one row may differ
APART = {"training.seed", "training.init", "data.cache"}


def label_runs(folders: Sequence[Path]) -> list[LabelledRun]:
    """A label for each run; runs that are equal but for the seed share one."""
    opened = [Run.open(folder).config for folder in folders]
    kinds = [{"label": name_of(config), **settings(config)} for config in opened]
    firsts: dict[str, list[dict[str, Any]]] = {}
    for kind in kinds:
        known = firsts.setdefault(kind["label"], [])
        if kind not in known:
            known.append(kind)
    return [
        LabelledRun(folder, told_apart(kind, firsts[kind["label"]]))
        for folder, kind in zip(folders, kinds, strict=True)
    ]


def name_of(config: Config) -> str:
    """ "MLE", "SPG 0.4", "SPG 0.4 late + Length", or with where it started, "PG from MLE"."""
    return f"{config.label} from {origin(Path(config.training.init))}" if config.training.init else config.label


def origin(run: Path) -> str:
    """What kind of run this is, or its name where it has gone."""
    try:
        return configs.read(run / "config.toml", old=True).label
    except InputError:
        return run.name


def settings(config: Config) -> dict[str, Any]:
    """What makes two runs be of one row."""
    return {
        key: value
        for key, value in configs.flat(config).items()
        if key not in APART and not key.startswith("decoding.")
    }


def told_apart(kind: dict[str, Any], same_label: Sequence[dict[str, Any]]) -> str:
    """The label, and where runs of several kinds have it, the settings in which this one differs from the first."""
    first = same_label[0]
    others = [f"{key}={value}" for key, value in kind.items() if value != first.get(key)]
    return ", ".join([kind["label"], *others])
