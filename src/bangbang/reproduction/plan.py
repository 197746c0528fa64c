"""The plan: which trainings there are, what sets each apart, and the command that is each."""

import json
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bangbang import config as configs
from bangbang.config import Config
from bangbang.errors import InputError
from bangbang.files import read_json
from bangbang.reproduction.methods import Method, choose
from bangbang.reproduction.pace import paced_steps
from bangbang.training import retention

CONFIG = "config.toml"
# where things are kept and how often they are saved: may change from one sitting to the next
INDIFFERENT = {"data.cache", "training.keep_checkpoints", "training.checkpoint_minutes", "training.max_skipped"}


class Training(NamedTuple):
    """One run to be trained."""

    method: Method
    seed: int
    folder: Path
    settings: tuple[str, ...]
    """What it changes in the shared config."""
    after: str
    """Name of the training whose weights it starts from; empty means a cold start."""
    config: Config
    """All its settings."""

    @property
    def name(self) -> str:
        return run_name(self.method.name, self.seed)

    @property
    def start(self) -> list[str]:
        """The arguments of `bangbang` that train it."""
        shared = self.folder.parent.parent / CONFIG
        changes = [word for setting in self.settings for word in ("--set", setting)]
        start = ["--init", self.config.training.init] if self.after else []
        return ["train", str(shared), *changes, *start, "--out", str(self.folder)]

    @property
    def resume(self) -> list[str]:
        return ["train", "--resume", "--out", str(self.folder)]

    @property
    def command(self) -> str:
        """What a person would type."""
        return shlex.join(["bangbang", *self.start])


class Plan(NamedTuple):
    task: str
    budget: str
    out: Path
    config: Config
    """What all trainings have in common."""
    trainings: list[Training]
    later: list[str]
    """Names of trainings whose steps are not known before the others are done."""


def run_name(method: str, seed: int) -> str:
    return f"{method}-seed{seed}"


def make_plan(
    task: str, budget: str, config: Config, out: Path, methods: Sequence[str] = (), seeds: Sequence[int] = (1,)
) -> Plan:
    """Every method of these names and groups (the paper's, if none is named) with every seed; equal in all else."""
    chosen = choose(methods)
    if len(set(seeds)) < len(seeds):
        raise InputError(f"--seeds {' '.join(map(str, seeds))}: a seed comes twice")
    by_steps = [plan_training(config, out, method, seed) for seed in seeds for method in chosen if not method.pace]
    trainings, later = list(by_steps), []
    for method in (method for method in chosen if method.pace):
        steps = paced_steps(method, by_steps, out / "runs")
        if steps is None:
            later += [run_name(method.name, seed) for seed in seeds]
        else:
            trainings += [plan_training(config, out, method, seed, steps) for seed in seeds]
    places = [method.name for method in chosen]
    trainings.sort(key=lambda training: (seeds.index(training.seed), places.index(training.method.name)))
    return Plan(task, budget, out, config, trainings, later)


def plan_training(config: Config, out: Path, method: Method, seed: int, steps: int = 0) -> Training:
    """`steps` are those of a method that goes by the clock."""
    clock = [f"training.max_steps={steps}"] if steps else []
    settings = (*method.changes(config), *clock, f"training.seed={seed}")
    after = run_name(method.starts_from, seed) if method.starts_from else ""
    start = [f"training.init={json.dumps(str(out / 'runs' / after), ensure_ascii=False)}"] if after else []
    folder = out / "runs" / run_name(method.name, seed)
    return Training(method, seed, folder, settings, after, configs.override(config, [*settings, *start]))


def check_unchanged(plan: Plan, fingerprint: str) -> None:
    """An InputError if a run that has begun was planned otherwise, or was trained on another corpus than this."""
    for training in plan.trainings:
        if not retention.listed(training.folder / "checkpoints"):
            continue
        before = configs.read(training.folder / "config.toml")
        changed = "; ".join(changes(before, training.config))
        if changed:
            raise InputError(f"{training.folder}: was begun with another plan: {changed}; choose another --out")
        if read_json(training.folder / "corpus.json").get("fingerprint") != fingerprint:
            raise InputError(
                f"{training.folder}: was trained on another {training.config.data.corpus} corpus than there is now; "
                "choose another --out"
            )


def changes(before: Config, now: Config) -> Iterator[str]:
    old, new = configs.flat(before), configs.flat(now)
    for key in configs.differences(before, now):
        was, now_is = old.get(key), new.get(key)
        moved = key == "training.init" and was and now_is  # the folder has another name, seen from here
        tuned = key.startswith("decoding.")  # which trains nothing: `bangbang tune` writes it
        if key not in INDIFFERENT and not moved and not tuned:
            yield f"{key} was {was!r}, now {now_is!r}"
