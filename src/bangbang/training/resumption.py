"""Going on with a run: the newest whole checkpoint, checked to be this run's, put back in place."""

from typing import Any, NamedTuple

from torch import nn

from bangbang import config as configs
from bangbang import registry
from bangbang.decoding.settings import DecodingSettings
from bangbang.errors import InputError
from bangbang.training import checkpoint, retention
from bangbang.training.checkpoint import Progress
from bangbang.training.retention import Newest
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


DECODING = DecodingSettings.table
"""May change too, by `bangbang tune`; training goes on with the validations that it began with."""


class Resumption(NamedTuple):
    progress: Progress
    notes: list[str]
    """What a person should know: which checkpoints were damaged, and which one it goes on from."""
    decoding: DecodingSettings
    """How it validates."""


def resume(run: Run, model: nn.Module) -> Resumption:
    """Load the weights of the newest whole checkpoint of `run`, if it has any, and set damaged ones aside."""
    newest = retention.newest_whole(run.checkpoints)
    if newest is None:
        retention.sweep(run.checkpoints)
        if run.config.training.init:
            start_from(Run.open(run.config.training.init), run, model)
        return Resumption(Progress(), [], run.config.decoding)
    run.check_vocabulary(newest.checkpoint, newest.state.origin)
    changed = changes(newest.state.origin.get("config"), run.config)
    if changed:
        raise InputError(f"{newest.checkpoint}: was made with another config: {', '.join(changed)}")
    checkpoint.load_model(newest.checkpoint, model, newest.state.latest)
    retention.tidy(run.checkpoints, newest.checkpoint)
    notes = [f"damaged, set aside: {message}" for message in newest.damaged]
    notes.append(f"going on from {newest.checkpoint.name}")
    return Resumption(newest.state.progress, notes, validated_by(newest))


def validated_by(newest: Newest) -> DecodingSettings:
    """How the training that made a checkpoint decodes the validation split."""
    before = newest.state.origin.get("config")
    found = before.get(DECODING, {}) if isinstance(before, dict) else {}
    known = registry.fields_of(DecodingSettings)  # of a newer version there may be others
    kept = {key: value for key, value in found.items() if key in known} if isinstance(found, dict) else found
    return configs.build({DECODING: kept}, str(newest.checkpoint)).decoding


def check_unchanged(run: Run, config: configs.Config) -> None:
    """An InputError if `config` is not that of a run to go on with.

    Its decoding may be the run's, or that with which the training began.
    """
    changed = [key for key in configs.differences(run.config, config) if key not in BUDGET]
    if any(is_decoding(key) for key in changed):
        newest = retention.newest_whole(run.checkpoints)
        if newest is not None and config.decoding == validated_by(newest):
            changed = [key for key in changed if not is_decoding(key)]
    if changed:
        raise InputError(f"{run.folder}: its config differs in {', '.join(changed)}; resume without changing these")


def is_decoding(key: str) -> bool:
    return key.startswith(f"{DECODING}.")


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
    """The `table.key`s, but those of the budget and of decoding, that had another value.

    A key that one of the two lacks is a newer or an older version's and does not count, except in stages.
    """
    if not isinstance(before, dict):
        return ["all of it"]
    old, current = configs.flat_tables(before), configs.flat(config)
    shared = [key for key in old if key in current and key not in BUDGET and not is_decoding(key)]
    stages = [key for key in (*old, *current) if key.startswith("stages.")]
    keys = dict.fromkeys((*shared, *stages))
    return [f"{key} was {old.get(key)!r}" for key in keys if old.get(key) != current.get(key)]
