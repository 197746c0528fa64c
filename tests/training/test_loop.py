"""Training end to end on a small corpus: it learns, it resumes to the bit, it ends in good order."""

import json
import os
import shutil
import signal
import threading
from itertools import count
from pathlib import Path

import pytest
from safetensors.torch import load_file
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from bangbang import config as configs
from bangbang.cli.main import main
from bangbang.data import Batch
from bangbang.errors import InputError
from bangbang.reporting.history import read_history
from bangbang.training import Run, checkpoint, retention, train
from bangbang.training.loop import Trainer
from bangbang.training.monitor import Interval


def weights(folder: Path, step: int) -> dict[str, bytes]:
    """Everything in a checkpoint but its timings."""
    path = folder / "checkpoints" / checkpoint.name_of(step)
    files = (checkpoint.MODEL, checkpoint.OPTIMIZER)
    return {name: tensor.numpy().tobytes() for file in files for name, tensor in load_file(path / file).items()}


def losses(folder: Path) -> dict[int, float]:
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").open()]
    return {line["step"]: line["loss"] for line in lines if line["kind"] == "train"}


def test_it_learns(tiny_run: Path) -> None:
    curve = losses(tiny_run)
    assert sorted(curve) == [10, 20, 30, 40, 50, 60]
    assert curve[60] < 0.4 * curve[10]
    progress = checkpoint.read_progress(Run.open(tiny_run).checkpoint("last"))
    assert progress.step == 60 and progress.best_score > 20


def test_golden_losses(tiny_run: Path) -> None:
    """The seeded curve as it was when it was last understood; a change of it must be meant."""
    golden = {10: 4.15338, 20: 2.57943, 30: 1.96619, 40: 1.51287, 50: 1.32193, 60: 1.20212}
    assert losses(tiny_run) == pytest.approx(golden, rel=1e-4)


def test_a_run_folder_has_what_it_should(tiny_run: Path) -> None:
    # a report on this shared run may have come first
    names = {path.name for path in tiny_run.iterdir()} - {"test.json"}
    expected = {
        ".lock",
        "config.toml",
        "vocabulary.json",
        "spelling.json",
        "corpus.json",
        "checkpoints",
        "metrics.jsonl",
        "tensorboard",
        "samples",
    }
    assert names == expected
    assert len(list((tiny_run / "samples").iterdir())) == 3
    (events,) = (tiny_run / "tensorboard").glob("events.*")
    curves = EventAccumulator(str(events)).Reload()
    logged = json.loads((tiny_run / "metrics.jsonl").read_text().splitlines()[0])
    for name in ("loss", "gradient_norm", "entropy", "sample_length", "reference_length"):
        assert curves.Scalars(f"train/{name}")[0].value == pytest.approx(logged[name])
    kept = [path.name for path in retention.listed(tiny_run / "checkpoints")]
    assert "step-00000060" in kept and len(kept) <= 3


def test_resumed_equals_uninterrupted_to_the_bit(tiny_run: Path, tiny_config: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    main(["train", str(tiny_config), "--out", str(folder), "--set", "training.max_steps=25"])
    # a line from a sitting that was cut off after its last checkpoint, and half of another
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"kind": "train", "step": 30, "loss": 99}\n{"kind": "tra')
    main(["train", "--resume", "--out", str(folder), "--set", "training.max_steps=60"])
    assert weights(folder, 60) == weights(tiny_run, 60)
    whole = losses(tiny_run)
    resumed = losses(folder)
    assert '"loss": 99' not in (folder / "metrics.jsonl").read_text()
    # the interval that the interruption cut (steps 21-30) has a mean over other steps; all the rest is the same number
    assert {step: resumed[step] for step in (10, 20, 40, 50, 60)} == {
        step: whole[step] for step in (10, 20, 40, 50, 60)
    }


def test_a_signal_ends_after_the_step_with_a_checkpoint(
    tiny_run: Path, tiny_config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    take_step = Trainer.take_step

    def interrupted_step(self: Trainer, batch: object) -> object:
        if self.progress.step == 33:
            os.kill(os.getpid(), signal.SIGTERM)
        return take_step(self, batch)  # type: ignore[arg-type]

    assert threading.current_thread() is threading.main_thread()
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "take_step", interrupted_step)
        outcome = train(configs.read(tiny_config), folder)
    assert outcome.interrupted and outcome.progress.step == 34
    assert retention.listed(folder / "checkpoints")[-1].name == "step-00000034"
    assert main(["train", "--resume", "--out", str(folder)]) == 0
    assert weights(folder, 60) == weights(tiny_run, 60)


def test_a_crash_loses_no_more_than_the_minutes_between_checkpoints(
    tiny_run: Path, tiny_config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    take_step = Trainer.take_step

    def crashing_step(self: Trainer, batch: object) -> object:
        if self.progress.step == 13:  # no validation has been
            raise MemoryError
        return take_step(self, batch)  # type: ignore[arg-type]

    for minutes, saved in ((0.0, []), (60.0, []), (1e-9, ["step-00000012", "step-00000013"])):
        config = configs.read(tiny_config, [f"training.checkpoint_minutes={minutes}"])
        with monkeypatch.context() as patch, pytest.raises(MemoryError):
            patch.setattr(Trainer, "take_step", crashing_step)
            train(config, folder)
        assert [path.name for path in retention.listed(folder / "checkpoints")] == saved
    assert main(["train", "--resume", "--out", str(folder), "--set", "training.checkpoint_minutes=0"]) == 0
    assert weights(folder, 60) == weights(tiny_run, 60)


def test_a_run_is_not_overwritten(tiny_run: Path, tiny_config: Path) -> None:
    with pytest.raises(InputError, match="--resume"):
        train(configs.read(tiny_config), tiny_run)


def test_resume_refuses_another_config(tiny_run: Path, tiny_config: Path) -> None:
    with pytest.raises(InputError, match=r"model\.units"):
        train(configs.read(tiny_config, ["model.units=17"]), tiny_run, resume=True)


def test_resuming_a_finished_run_changes_nothing(tiny_run: Path) -> None:
    before = weights(tiny_run, 60)
    assert main(["train", "--resume", "--out", str(tiny_run)]) == 0
    assert weights(tiny_run, 60) == before


def test_patience_and_time_end_a_run(tiny_config: Path, tmp_path: Path) -> None:
    # a learning rate this small never improves on its first validation
    settings = ["training.patience=2", "optimizer.learning_rate=1e-12", "training.validate_every=3"]
    outcome = train(configs.read(tiny_config, settings), tmp_path / "patience")
    assert outcome.progress.step == 9 and outcome.progress.best_step == 3
    assert steps_of(tmp_path / "patience", "valid") == [3, 6, 9]
    outcome = train(configs.read(tiny_config, ["training.max_minutes=1e-6"]), tmp_path / "time")
    assert outcome.progress.step == 1


def steps_of(folder: Path, kind: str) -> list[int]:
    """The steps that have a line of this kind in metrics.jsonl."""
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").open()]
    return [line["step"] for line in lines if line["kind"] == kind]


@pytest.fixture
def steps_of_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    minutes = count(1)
    monkeypatch.setattr(Interval, "total_seconds", lambda interval: 60.0 * next(minutes))


@pytest.mark.usefixtures("steps_of_a_minute")
@pytest.mark.parametrize(("minutes", "validated", "logged"), [(13, [13], [10, 13]), (20, [20], [10, 20])])
def test_a_run_that_is_out_of_time_is_validated_at_its_end(
    tiny_config: Path, tmp_path: Path, minutes: int, validated: list[int], logged: list[int]
) -> None:
    config = configs.read(tiny_config, [f"training.max_minutes={minutes}"])
    progress = train(config, tmp_path).progress
    assert progress.step == progress.best_step == minutes and progress.validations == 1
    assert Run.open(tmp_path).checkpoint("best").name == checkpoint.name_of(minutes)
    before = weights(tmp_path, minutes)
    assert not train(config, tmp_path, resume=True).interrupted
    assert steps_of(tmp_path, "valid") == validated and steps_of(tmp_path, "train") == logged
    assert weights(tmp_path, minutes) == before


@pytest.mark.usefixtures("steps_of_a_minute")
def test_a_signal_ends_without_a_validation_which_the_next_sitting_makes_up_for(
    tiny_config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_step = Trainer.take_step

    def interrupted_step(self: Trainer, batch: Batch) -> object:
        if self.progress.step == 12:
            os.kill(os.getpid(), signal.SIGTERM)
        return take_step(self, batch)

    config = configs.read(tiny_config, ["training.max_minutes=13"])
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "take_step", interrupted_step)
        outcome = train(config, tmp_path)
    assert outcome.interrupted and outcome.progress.step == 13 and steps_of(tmp_path, "valid") == []
    outcome = train(config, tmp_path, resume=True)
    assert not outcome.interrupted and outcome.progress.step == 13
    assert steps_of(tmp_path, "valid") == [13] and steps_of(tmp_path, "train") == [10]


def test_of_some_scores_less_is_better(tiny_config: Path, tmp_path: Path) -> None:
    settings = ['task.metrics=["ter"]', "training.metric=ter", "training.max_steps=60"]
    progress = train(configs.read(tiny_config, settings), tmp_path).progress
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").open()]
    scores = {line["step"]: line["ter"] for line in lines if line["kind"] == "valid"}
    assert progress.best_score == min(scores.values()) < max(scores.values())
    assert read_history(tmp_path, Run.open(tmp_path).config).best("ter").step == progress.best_step


def test_a_run_of_an_older_version_goes_on(tiny_run: Path, tmp_path: Path) -> None:
    """Its config holds the settings of all kinds in one table, and says no version."""
    folder = tmp_path / "old"
    shutil.copytree(tiny_run, folder)
    text = (folder / "config.toml").read_text()
    old = text.replace('kind = "mle"', 'kind = "mle"\np_drop = 0.4\ntau = 0.85').replace('version = "', "# ")
    old = old.replace('normalizer = "positions"\n', "")
    assert old != text
    (folder / "config.toml").write_text(old)
    assert main(["train", "--resume", "--out", str(folder), "--set", "training.max_steps=62"]) == 0
    assert Run.open(folder).checkpoint("last").name == checkpoint.name_of(62)
    assert main(["evaluate", str(folder), "--split", "valid"]) == 0


@pytest.mark.usefixtures("bfloat16")
@pytest.mark.parametrize(("kind", "rate"), [("adagrad", 0.1), ("adamw", 0.02)])
def test_bf16_and_both_optimisers_train(tiny_config: Path, tmp_path: Path, kind: str, rate: float) -> None:
    settings = [f"optimizer.kind={kind}", f"optimizer.learning_rate={rate}", "training.mixed_precision=bf16"]
    settings += ["training.max_steps=40"]
    train(configs.read(tiny_config, settings), tmp_path)
    curve = losses(tmp_path)
    assert curve[40] < 0.8 * curve[10]


@pytest.mark.usefixtures("bfloat16")
@pytest.mark.parametrize("kind", ["bbspg", "rloo"])
def test_bf16_samples(tiny_config: Path, tmp_path: Path, kind: str) -> None:
    settings = [f"objective.kind={kind}", "training.max_steps=3", "training.log_every=1"]
    for name, precision in (("half", "bf16"), ("full", "no")):
        train(configs.read(tiny_config, [*settings, f"training.mixed_precision={precision}"]), tmp_path / name)
    half, full = losses(tmp_path / "half"), losses(tmp_path / "full")
    assert half.keys() == full.keys() == {1, 2, 3}
    assert half[1] != full[1] and half[1] == pytest.approx(full[1], rel=0.1, abs=0.01)
