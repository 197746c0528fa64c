"""Runs with stages: what a stage begins with, and that it goes on to the bit wherever it was interrupted."""

import json
import os
import signal
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tensorboard.backend.event_processing.plugin_event_accumulator import EventAccumulator

from bangbang import config as configs
from bangbang.cli.main import main
from bangbang.config import Config
from bangbang.data import Batch, prepare
from bangbang.errors import InputError
from bangbang.objectives.settings import Pg
from bangbang.training import Run, checkpoint, loop, retention, train
from bangbang.training.learner import BatchStream
from bangbang.training.loop import Trainer
from bangbang.training.monitor import Interval, Monitor
from tests.training.test_loop import steps_of, weights

BOUNDARY, END = 5, 11
FIRST = """
[[stages]]
steps = 5
objective = {kind = "bbspg", p_drop = 0.5, p_drop_delay = 2}
optimizer = {kind = "adagrad", learning_rate = 0.001}
"""
SECOND = """
[[stages]]
steps = 6
start = "START"
objective = {kind = "pg", samples = 2, baseline = "others"}
reward = {kind = "rouge-l"}
optimizer = {learning_rate = 0.0001, warmup_steps = 2}
"""
TIMES = {"seconds", "examples_per_second"}
STARTS = pytest.mark.parametrize("start", ["last", "best"])


def staged(tiny_config: Path, *settings: str, start: str = "best", stages: str = FIRST + SECOND) -> Config:
    """The small config with two stages; all validations score 0, so that the first of them, step 2, is the best."""
    path = tiny_config.parent / f"staged-{start}-{len(stages)}.toml"
    path.write_text(tiny_config.read_text() + stages.replace("START", start))
    often = ("training.log_every=1", "training.validate_every=2", "training.validation_examples=4")
    return configs.read(path, [*often, *settings])


@pytest.fixture(scope="module")
def whole(tiny_config: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of the run that starts its second stage with the last or the best weights, never interrupted."""
    folders = {start: tmp_path_factory.mktemp("whole") / start for start in ("last", "best")}
    for start, folder in folders.items():
        progress = train(staged(tiny_config, start=start), folder).progress
        assert progress.step == END and progress.best_step == 2
    return folders.__getitem__


def lines(folder: Path) -> list[dict[str, Any]]:
    """All that metrics.jsonl says but times."""
    records = [json.loads(line) for line in (folder / "metrics.jsonl").open()]
    return [{key: value for key, value in record.items() if key not in TIMES} for record in records]


def values(folder: Path, name: str) -> list[Any]:
    return [line[name] for line in lines(folder) if line["kind"] == "train"]


def interrupt(patch: pytest.MonkeyPatch, after: int, crash: bool = False) -> None:
    """End training after so many steps by a signal, or in the step that follows by an error."""
    take_step = Trainer.take_step

    def interrupted(self: Trainer, batch: Batch) -> object:
        if crash and self.progress.step == after:
            raise MemoryError
        if not crash and self.progress.step == after - 1:
            os.kill(os.getpid(), signal.SIGTERM)
        return take_step(self, batch)

    patch.setattr(Trainer, "take_step", interrupted)


@STARTS
def test_stages_are_runs_one_after_the_other(
    tiny_config: Path, tmp_path: Path, whole: Callable[[str], Path], start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first is the run of its settings. The second is the one that `--init` starts from the first's last or best
    weights, once that is given the batches and the noise of its steps of the whole run."""
    folder, config = whole(start), staged(tiny_config, start=start)
    often = [f"training.{key}={getattr(config.training, key)}" for key in ("validate_every", "validation_examples")]
    often += ["training.log_every=1", "training.keep_checkpoints=9"]
    adagrad = ["optimizer.kind=adagrad", "optimizer.learning_rate=0.001"]
    one = ["objective.kind=bbspg", "objective.p_drop=0.5", "objective.p_drop_delay=2", *adagrad]
    train(configs.read(tiny_config, [*often, *one, f"training.max_steps={BOUNDARY}"]), tmp_path / "one")
    for name in ("loss", "gradient_norm", "learning_rate", "driven_share"):
        assert values(tmp_path / "one", name) == [
            line[name] for line in lines(folder) if line["kind"] == "train" and line["step"] <= BOUNDARY
        ]

    choose, seed_for, batch = Run.checkpoint, loop.seed_for, BatchStream.batch

    def later_seed(seed: int, use: str, *place: int) -> int:
        return seed_for(seed, use, *(number + shift for number, shift in zip(place, (BOUNDARY, 0), strict=False)))

    monkeypatch.setattr(Run, "checkpoint", lambda run, which="best": choose(run, start))
    monkeypatch.setattr(loop, "seed_for", later_seed)
    monkeypatch.setattr(BatchStream, "batch", lambda stream, step: batch(stream, step + BOUNDARY))
    two = ["objective.kind=pg", "objective.samples=2", "objective.baseline=others", "reward.kind=rouge-l"]
    two += [
        "optimizer.learning_rate=0.0001",
        "optimizer.warmup_steps=2",
        f"training.max_steps={END - BOUNDARY}",
        f"training.init={tmp_path / 'one'}",
    ]
    train(configs.read(tiny_config, [*often, *two]), tmp_path / "two")
    assert values(tmp_path / "two", "loss") == values(folder, "loss")[BOUNDARY:]
    assert weights(tmp_path / "two", END - BOUNDARY) == weights(folder, END)
    assert weights(tmp_path / "two", END - BOUNDARY) != weights(whole("last" if start == "best" else "best"), END)


@STARTS
@pytest.mark.parametrize("crash", [False, True], ids=["signal", "crash"])
@pytest.mark.parametrize("after", [3, BOUNDARY, BOUNDARY + 1, 9])
def test_resumed_equals_uninterrupted_to_the_bit(
    tiny_config: Path, tmp_path: Path, whole: Callable[[str], Path], start: str, after: int, crash: bool
) -> None:
    """In the first stage, at the boundary, a step after it, in the second. A crash comes once the stage has begun."""
    config = staged(tiny_config, start=start)
    with pytest.MonkeyPatch.context() as patch:
        interrupt(patch, after, crash)
        if crash:
            with pytest.raises(MemoryError):
                train(config, tmp_path)
        else:
            assert train(config, tmp_path).progress.step == after
    saved = {3: 2, 9: 8}.get(after, after) if crash else after
    assert retention.listed(tmp_path / "checkpoints")[-1].name == checkpoint.name_of(saved)
    assert main(["train", "--resume", "--out", str(tmp_path)]) == 0
    assert weights(tmp_path, END) == weights(whole(start), END)
    assert lines(tmp_path) == lines(whole(start))


@STARTS
def test_resumed_again_and_again(tiny_config: Path, tmp_path: Path, whole: Callable[[str], Path], start: str) -> None:
    for after, crash in ((1, True), (4, False), (BOUNDARY, True), (BOUNDARY, True), (BOUNDARY + 1, False), (10, False)):
        with pytest.MonkeyPatch.context() as patch:
            interrupt(patch, after, crash)
            if crash:
                with pytest.raises(MemoryError):
                    train(staged(tiny_config, start=start), tmp_path, resume=True)
            else:
                train(staged(tiny_config, start=start), tmp_path, resume=True)
    train(staged(tiny_config, start=start), tmp_path, resume=True)
    assert weights(tmp_path, END) == weights(whole(start), END)
    assert lines(tmp_path) == lines(whole(start))
    assert [(line["step"], line["stage"], line["label"]) for line in lines(tmp_path) if line["kind"] == "stage"] == [
        (0, 1, "SPG 0.5 late"),
        (BOUNDARY, 2, "PG"),
    ]


SCHEDULES = """
[[stages]]
steps = 4
objective = {kind = "bbspg", p_drop = 0.5, p_drop_delay = 2}
optimizer = {kind = "adamw", learning_rate = 0.1, warmup_steps = 2}

[[stages]]
steps = 6
objective = {kind = "bbspg", p_drop = 0.5, p_drop_delay = 3}
optimizer = {kind = "adamw", learning_rate = 0.2, warmup_steps = 2, decay = "cosine"}
"""


def test_schedules_and_the_optimisers_state_are_the_stages_own(tiny_config: Path, tmp_path: Path) -> None:
    train(staged(tiny_config, "training.keep_checkpoints=9", stages=SCHEDULES), tmp_path)
    # warm-up to 0.1; then warm-up to 0.2 and half a cosine over 4 steps, (1 + cos(k pi / 4)) / 10
    expected = [0.05, 0.1, 0.1, 0.1, 0.1, 0.2, 0.2, 0.1 + 0.1 * 2**-0.5, 0.1, 0.1 - 0.1 * 2**-0.5]
    assert values(tmp_path, "learning_rate") == pytest.approx(expected)
    assert values(tmp_path, "stage") == [1] * 4 + [2] * 6
    driven = [share == 1 for share in values(tmp_path, "driven_share")]
    assert driven == [True] * 2 + [False] * 2 + [True] * 3 + [False] * 3
    assert optimizer_steps(tmp_path, 4) == {4.0} and optimizer_steps(tmp_path, 10) == {6.0}


def optimizer_steps(folder: Path, step: int) -> set[float]:
    """The updates that the optimiser of a checkpoint has counted."""
    state = load_file(folder / "checkpoints" / checkpoint.name_of(step) / checkpoint.OPTIMIZER)
    return {float(value) for name, value in state.items() if name.endswith("|step")}


def test_a_checkpoint_has_the_state_of_its_stages_optimiser(
    tiny_config: Path, tmp_path: Path, whole: Callable[[str], Path]
) -> None:
    train(staged(tiny_config, "training.keep_checkpoints=9"), tmp_path)
    for step, entries in ((BOUNDARY, {"step", "sum"}), (BOUNDARY + 1, {"step", "exp_avg", "exp_avg_sq"})):
        state = load_file(tmp_path / "checkpoints" / checkpoint.name_of(step) / checkpoint.OPTIMIZER)
        assert {name.partition("|")[2] for name in state} == entries
    assert weights(tmp_path, END) == weights(whole("best"), END)


def test_patience_ends_the_run_in_whatever_stage(tiny_config: Path, tmp_path: Path) -> None:
    """Validations come after steps 2, 4, 5, 6, ...; the first is the best."""
    for patience, step in ((2, BOUNDARY), (3, BOUNDARY + 1), (0, END)):
        config = staged(tiny_config, f"training.patience={patience}")
        assert train(config, tmp_path, resume=True).progress.step == step


def test_time_ends_the_run_in_whatever_stage(
    tiny_config: Path, tmp_path: Path, whole: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    minutes = count(1)
    monkeypatch.setattr(Interval, "total_seconds", lambda interval: 60.0 * next(minutes))
    for limit, step in ((3, 3), (BOUNDARY, BOUNDARY), (7, 7), (0, END)):
        config = staged(tiny_config, f"training.max_minutes={limit}")
        assert train(config, tmp_path, resume=True).progress.step == step
    assert weights(tmp_path, END) == weights(whole("best"), END)
    assert steps_of(tmp_path, "valid") == [2, 3, 4, 5, 6, 7, 8, 10, 11]


def test_max_steps_cuts_stages_and_more_steps_go_on_into_the_next(
    tiny_config: Path, tmp_path: Path, whole: Callable[[str], Path]
) -> None:
    for most in (3, BOUNDARY, 8, 4, 999):  # 4 is less than has been done, and of another optimiser
        progress = train(staged(tiny_config, f"training.max_steps={most}"), tmp_path, resume=True).progress
        assert progress.step == min(END, max(8, most) if most == 4 else most)
    assert weights(tmp_path, END) == weights(whole("best"), END)
    assert [line for line in lines(tmp_path) if line["kind"] != "valid"] == [
        line for line in lines(whole("best")) if line["kind"] != "valid"
    ]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("stages.2.steps=7", "stages.2.steps"),
        ("stages.1.objective.p_drop=0.4", "stages.1.objective.p_drop"),
        ("stages.2.start=last", "stages.2.start"),
        ("stages.2.optimizer.clip_norm=1.0", "stages.2.optimizer.clip_norm"),
    ],
)
def test_changed_stages_are_refused(
    tiny_config: Path, whole: Callable[[str], Path], tmp_path: Path, change: str, named: str
) -> None:
    with pytest.raises(InputError) as raised:
        train(staged(tiny_config, change), whole("best"), resume=True)
    assert str(raised.value).endswith(f": its config differs in {named}; resume without changing these")
    # and where somebody changed config.toml itself, the checkpoint knows
    train(staged(tiny_config, "training.max_steps=2"), tmp_path)
    (tmp_path / "config.toml").write_text(configs.dumps(staged(tiny_config, change)))
    with pytest.raises(InputError, match=f"step-00000002: was made with another config: {named} was "):
        train(configs.read(tmp_path / "config.toml"), tmp_path, resume=True)


def test_stages_that_come_or_go_are_refused(tiny_config: Path, whole: Callable[[str], Path]) -> None:
    with pytest.raises(InputError, match=r"its config differs in stages\.1\.steps, stages\.1\.start, "):
        train(staged(tiny_config, stages=""), whole("best"), resume=True)


def test_bars_boards_and_samples_count_the_steps_of_the_run(tiny_config: Path, whole: Callable[[str], Path]) -> None:
    monitor = Monitor(staged(tiny_config), checkpoint.Progress(step=4), enabled=False)
    assert (monitor.bar.tasks[0].completed, monitor.bar.tasks[0].total) == (4, END)
    monitor.began -= 60
    assert monitor.eta(checkpoint.Progress(step=7)) == "1.3 min"  # 20 s a step, 4 to come
    samples = [path.name for path in sorted((whole("best") / "samples").iterdir())]
    assert samples == [f"step-{step:08d}.txt" for step in (2, 4, 5, 6, 8, 10, 11)]


def test_the_board_shows_a_stage_once(tiny_config: Path, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch, pytest.raises(MemoryError):
        interrupt(patch, BOUNDARY, crash=True)  # once the second stage has begun
        train(staged(tiny_config), tmp_path)
    train(staged(tiny_config), tmp_path, resume=True)
    board = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert [event.step for event in board.Tensors("train/loss")] == list(range(1, END + 1))
    shown = [(event.step, event.tensor_proto.string_val[0].decode()) for event in board.Tensors("stage/text_summary")]
    assert shown == [(1, "1: SPG 0.5 late"), (BOUNDARY + 1, "2: PG")]


def test_best_weights_that_are_damaged_or_gone_are_named(tiny_config: Path, tmp_path: Path) -> None:
    train(staged(tiny_config, f"training.max_steps={BOUNDARY}"), tmp_path)
    best = tmp_path / "checkpoints" / checkpoint.name_of(2) / checkpoint.MODEL
    content = bytearray(best.read_bytes())
    content[-1] ^= 1
    for damage in (lambda: best.write_bytes(content), best.unlink):
        damage()
        with pytest.raises(InputError, match=r"step-00000002/model\.safetensors.*; stage 2 starts from these weights"):
            train(staged(tiny_config), tmp_path, resume=True)
    assert retention.listed(tmp_path / "checkpoints")[-1].name == checkpoint.name_of(BOUNDARY)


def test_what_is_wrong_with_a_later_stage_is_told_before_the_first_step(
    tiny_config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise InputError("no such reward")

    monkeypatch.setattr(Pg, "build", fails)
    with pytest.raises(InputError, match="no such reward"):
        train(staged(tiny_config), tmp_path)
    assert not retention.listed(tmp_path / "checkpoints") and not (tmp_path / "metrics.jsonl").exists()


def test_a_stage_may_have_its_own_batch_size_and_references(shapes_config: Path) -> None:
    """All sources of a batch stay whole: only how many there are, and what the reward sees of them, changes."""
    path = shapes_config.parent / "batches.toml"
    own = '[[stages]]\nsteps = 3\n[[stages]]\nsteps = 2\nbatch_size = 2\nreferences = "all"\n'
    path.write_text(shapes_config.read_text() + own)
    config = configs.read(path)
    corpus = prepare(config.data, config.vocabulary, progress=False)
    stream = BatchStream(corpus.split("train"), config, 0, 1, torch.device("cpu"))
    sizes = [tuple(stream.batch(step).references.shape[:2]) for step in range(5)]
    assert sizes[:3] == [(config.training.batch_size, 1)] * 3
    assert [rows for rows, _ in sizes[3:]] == [2, 2] and all(references > 1 for _, references in sizes[3:])
    examples = stream.split.examples
    first, second = examples // config.training.batch_size, examples // 2
    assert stream.epochs(5) == pytest.approx(3 / first + 2 / second)
    plain = BatchStream(corpus.split("train"), configs.read(shapes_config), 0, 1, torch.device("cpu"))
    assert torch.equal(stream.batch(2).target, plain.batch(2).target)
