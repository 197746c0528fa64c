"""Going on with a run: the newest whole checkpoint, checked to be this run's, put back in place."""

from typing import Any, NamedTuple

from torch import nn

from bangbang import config as configs
from bangbang.errors import InputError
from bangbang.training import checkpoint, shelf
from bangbang.training.checkpoint import Progress
from bangbang.training.run import Run

# What may change when a run is resumed: how long it goes on and where its corpus is kept, not what it is.
BUDGET = {
    "training.max_steps",
    "training.max_minutes",
    "training.patience",
    "training.keep_checkpoints",
    "training.checkpoint_minutes",
    "training.max_skipped",
    "data.cache",
}


class Resumption(NamedTuple):
    progress: Progress
    checkpoint: str
    """The folder that it goes on from; empty at a start."""
    notes: list[str]
    """What a person should know: which checkpoints were damaged, and which one it goes on from."""


def resume(run: Run, model: nn.Module) -> Resumption:
    """Load the weights of the newest whole checkpoint of `run`, if it has any, and set damaged ones aside."""
    newest = shelf.newest_whole(run.checkpoints)
    if newest is None:
        shelf.sweep(run.checkpoints)
        if run.config.training.init:
            start_from(Run.open(run.config.training.init), run, model)
        return Resumption(Progress(), "", [])
    run.check_vocabulary(newest.checkpoint, newest.state.origin)
    changed = changes(newest.state.origin.get("config"), run.config)
    if changed:
        raise InputError(f"{newest.checkpoint}: was made with another config: {', '.join(changed)}")
    checkpoint.load_model(newest.checkpoint, model)
    shelf.tidy(run.checkpoints, newest.checkpoint)
    notes = [f"damaged, set aside: {message}" for message in newest.damaged]
    return Resumption(
        newest.state.progress, str(newest.checkpoint), [*notes, f"going on from {newest.checkpoint.name}"]
    )


def start_from(other: Run, run: Run, model: nn.Module) -> None:
    """Give the model the weights of another run's best checkpoint."""
    if other.config.model != run.config.model:
        raise InputError(f"{other.folder}: its [model] differs from this config's; start from a run of the same model")
    if other.vocabulary.texts() != run.vocabulary.texts() or other.source_texts != run.source_texts:
        raise InputError(
            f"{other.folder}: its vocabulary differs from this corpus's; start from a run on the same corpus"
        )
    checkpoint.load_model(other.checkpoint("best"), model)


def changes(before: Any, config: configs.Config) -> list[str]:
    """The `table.key`s, but those of the budget, that had another value. Keys of a newer version do not count."""
    if not isinstance(before, dict):
        return ["all of it"]
    current = configs.flat(config)
    stages = ["stages"] if before.get("stages", []) != current.get("stages", []) else []
    return stages + [
        f"{name}.{key} was {value!r}"
        for name, table in before.items()
        for key, value in (table.items() if isinstance(table, dict) else ())
        if f"{name}.{key}" not in BUDGET and current.get(f"{name}.{key}", value) != value
    ]
