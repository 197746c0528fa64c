"""Averaged weights: by the literal formula, seen by validation and by all who load a run, never by training itself."""

from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file
from torch import Tensor, nn

from bangbang import config as configs
from bangbang.cli.main import main
from bangbang.config import Config
from bangbang.errors import InputError
from bangbang.training import Run, checkpoint, loop, retention, train
from bangbang.training.averaging import WeightAverage, newest_share
from bangbang.training.checkpoint import MODEL, OPTIMIZER, RAW, Progress
from bangbang.training.loop import Trainer
from bangbang.training.optimizer import build_optimizer
from bangbang.training.settings import OptimizerSettings
from tests.training.test_stages import interrupt

DECAY, STEPS = 0.6, 6
QUICK = ("training.validate_every=1", "training.validation_examples=3", "training.keep_checkpoints=99")
ON = (*QUICK, f"optimizer.average_decay={DECAY}")
STAGES = """
[[stages]]
steps = 3
optimizer = {average_decay = 0.6}

[[stages]]
steps = 3
start = "START"
optimizer = {learning_rate = 0.01, average_decay = 0.9}
"""


def tensors(folder: Path, step: int, file: str) -> dict[str, Tensor]:
    return load_file(folder / "checkpoints" / checkpoint.name_of(step) / file)


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def everything(folder: Path, step: int) -> list[dict[str, bytes]]:
    files = (MODEL, RAW, OPTIMIZER)
    return [{name: each.numpy().tobytes() for name, each in tensors(folder, step, file).items()} for file in files]


@pytest.fixture(scope="module")
def plain(tiny_config: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run without an average."""
    folder = tmp_path_factory.mktemp("plain")
    train(configs.read(tiny_config, [*QUICK, f"training.max_steps={STEPS}"]), folder)
    return folder


@pytest.fixture(scope="module")
def averaged(tiny_config: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same run with one."""
    folder = tmp_path_factory.mktemp("averaged")
    train(configs.read(tiny_config, [*ON, f"training.max_steps={STEPS}"]), folder)
    return folder


@settings(max_examples=25)
@given(st.floats(0.01, 0.9999), st.integers(1, 8), st.integers(0, 2**31))
def test_it_is_the_bias_corrected_moving_average(decay: float, steps: int, seed: int) -> None:
    """m ← d·m + (1-d)·w from 0, divided by 1 - d^n; and that is a mean with weights d^(n-k)."""
    torch.manual_seed(seed)
    model, m, seen = nn.Linear(2, 3).double(), torch.zeros(3, 2), []
    average = WeightAverage(model, decay)
    for n in range(1, steps + 1):
        with torch.no_grad():
            model.weight.normal_()
        average.add(n)
        m = decay * m + (1 - decay) * model.weight.detach()
        seen.append(model.weight.detach().clone())
        torch.testing.assert_close(average.tensors()["weight"], m / (1 - decay**n))
    weights = torch.tensor([decay ** (steps - k) for k in range(1, steps + 1)], dtype=torch.float64)
    mean = (torch.stack(seen) * (weights / weights.sum())[:, None, None]).sum(0)
    torch.testing.assert_close(average.tensors()["weight"], mean)
    assert newest_share(decay, 1) == 1


def test_weights_are_exchanged_for_the_time_of_a_block_to_the_bit() -> None:
    model = nn.Linear(2, 3)
    average = WeightAverage(model, 0.5)
    average.add(1)
    raw = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    mean = {name: 2 * tensor for name, tensor in raw.items()}
    average.load(mean)
    with pytest.raises(KeyError), average.in_place():
        assert same(model.state_dict(), mean)
        raise KeyError
    assert same(model.state_dict(), raw) and same(average.tensors(), mean)


def test_shared_parameters_and_other_state_are_named_as_the_model_names_them() -> None:
    model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.BatchNorm1d(2))
    model.append(model[0])
    average = WeightAverage(model, 0.5)
    with torch.no_grad():
        model[0].weight.add_(1)
    found = average.tensors()
    assert found.keys() == model.state_dict().keys() and torch.equal(found["0.weight"], found["2.weight"])
    assert not torch.equal(found["0.weight"], model[0].weight)
    assert torch.equal(found["1.running_var"], torch.ones(2))


def test_checkpoints_hold_the_average_and_the_weights_that_training_has(plain: Path, averaged: Path) -> None:
    m = {name: torch.zeros_like(each) for name, each in tensors(plain, 1, MODEL).items()}
    for n in range(1, STEPS + 1):
        raw = tensors(averaged, n, RAW)
        assert same(raw, tensors(plain, n, MODEL)), "training does not see the average"
        assert same(tensors(averaged, n, OPTIMIZER), tensors(plain, n, OPTIMIZER))
        m = {name: DECAY * each + (1 - DECAY) * raw[name] for name, each in m.items()}
        for name, each in tensors(averaged, n, MODEL).items():
            torch.testing.assert_close(each, m[name] / (1 - DECAY**n))
        files = {path.name for path in (plain / "checkpoints" / checkpoint.name_of(n)).iterdir()}
        assert files == {MODEL, OPTIMIZER, checkpoint.STATE}, "off, it costs nothing"
    loaded = Run.open(averaged).load_model("last").state_dict()
    assert same(loaded, tensors(averaged, STEPS, MODEL)) and not same(loaded, raw)


def test_it_is_what_is_validated(tiny_config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, decode_split = [], loop.decode_split

    def watched(run: Run, model: nn.Module, *rest: Any, **named: Any) -> object:
        seen.append({name: tensor.clone() for name, tensor in model.state_dict().items()})
        return decode_split(run, model, *rest, **named)

    monkeypatch.setattr(loop, "decode_split", watched)
    train(configs.read(tiny_config, [*ON, "training.max_steps=3"]), tmp_path)
    assert [same(state, tensors(tmp_path, n, MODEL)) for n, state in enumerate(seen, 1)] == [True] * 3


def test_resumed_equals_uninterrupted_to_the_bit(tiny_config: Path, averaged: Path, tmp_path: Path) -> None:
    train(configs.read(tiny_config, [*ON, "training.max_steps=4"]), tmp_path)
    assert main(["train", "--resume", "--out", str(tmp_path), "--set", f"training.max_steps={STEPS}"]) == 0
    assert everything(tmp_path, STEPS) == everything(averaged, STEPS)


def staged(tiny_config: Path, start: str) -> Config:
    path = tiny_config.parent / f"averaged-{start}.toml"
    path.write_text(tiny_config.read_text() + STAGES.replace("START", start))
    return configs.read(path, QUICK)


class Whole(NamedTuple):
    folder: Path
    began: dict[str, Tensor]
    """What the second stage began with."""


@pytest.fixture(scope="module")
def whole(tiny_config: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Whole]:
    """The run with stages that starts its second one from the last or the best weights, never interrupted."""
    runs = {}
    for start in ("last", "best"):
        folder, began = tmp_path_factory.mktemp(start), list[dict[str, Tensor]]()
        with pytest.MonkeyPatch.context() as patch:
            best_is_the_last(patch)
            take_step = Trainer.take_step

            def watched(self: Trainer, batch: Any, take_step: Any = take_step, began: Any = began) -> object:
                began.append({name: tensor.clone() for name, tensor in self.model.state_dict().items()})
                return take_step(self, batch)

            patch.setattr(Trainer, "take_step", watched)
            train(staged(tiny_config, start), folder)
        runs[start] = Whole(folder, began[3])
    return runs.__getitem__


def best_is_the_last(patch: pytest.MonkeyPatch) -> None:
    """Every validation is better than those before: the best weights are then the average of this very step."""
    patch.setattr(loop, "is_better", lambda *_: True)


@pytest.mark.parametrize("start", ["last", "best"])
def test_a_stage_begins_a_new_average(start: str, whole: Callable[[str], Whole]) -> None:
    """From the last weights themselves, or from the best, which are averages."""
    folder, began = whole(start)
    assert same(began, tensors(folder, 3, RAW if start == "last" else MODEL))
    raw = [tensors(folder, step, RAW) for step in (4, 5)]
    assert same(tensors(folder, 4, MODEL), raw[0])
    for name, each in tensors(folder, 5, MODEL).items():
        torch.testing.assert_close(each, (0.9 * raw[0][name] + raw[1][name]) / 1.9)


@pytest.mark.parametrize("start", ["last", "best"])
@pytest.mark.parametrize("after", [3, 4])
def test_stages_resume_to_the_bit(
    start: str, after: int, tiny_config: Path, tmp_path: Path, whole: Callable[[str], Whole]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        best_is_the_last(patch)
        interrupt(patch, after)
        assert train(staged(tiny_config, start), tmp_path).progress.step == after
    with pytest.MonkeyPatch.context() as patch:
        best_is_the_last(patch)
        train(staged(tiny_config, start), tmp_path, resume=True)
    assert everything(tmp_path, STEPS) == everything(whole(start).folder, STEPS)


def test_a_stage_without_an_average_keeps_none(tiny_config: Path, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(tiny_config.read_text() + STAGES.replace("START", "best").replace("0.9}", "0.0}"))
    train(configs.read(path, QUICK), tmp_path / "run")
    found = [(folder / RAW).exists() for folder in retention.listed(tmp_path / "run" / "checkpoints")]
    assert found == [True] * 3 + [False] * 3


def test_a_process_that_reads_no_checkpoint_is_told_the_average() -> None:
    model, told = nn.Linear(2, 2), []

    class Other:
        def together(self, work: Callable[[], object], on_main_only: bool = False) -> None:
            assert on_main_only

        def share(self, values: Iterable[Tensor]) -> None:
            told.extend(value.fill_(7.0) for value in values)

    trainer = SimpleNamespace(model=model, ranks=Other(), new_average=lambda: WeightAverage(model, 0.5))
    average = Trainer.saved_average(trainer, Path("nowhere"))  # type: ignore[arg-type]
    assert average is not None and len(told) == 2
    assert all((value == 7).all() for value in average.tensors().values())


def test_damage_to_the_raw_weights_is_found(tmp_path: Path) -> None:
    model = nn.Linear(3, 2)
    optimizer = build_optimizer(model.parameters(), OptimizerSettings())
    average = {name: 2 * tensor for name, tensor in model.state_dict().items()}
    saved = checkpoint.save(tmp_path, model, optimizer, Progress(step=7), average=average)
    assert checkpoint.read_state(saved).latest == RAW
    checkpoint.load_model(saved, other := nn.Linear(3, 2), RAW)
    assert same(other.state_dict(), model.state_dict())
    checkpoint.load_model(saved, other)
    assert same(other.state_dict(), average)
    (saved / RAW).unlink()
    with pytest.raises(InputError, match=f"{RAW}: damaged or missing"):
        checkpoint.read_state(saved)


def test_a_run_may_start_from_averaged_weights(averaged: Path, tiny_config: Path, tmp_path: Path) -> None:
    train(configs.read(tiny_config, ["training.max_steps=1", f"training.init={averaged}", *ON]), tmp_path)
    best = Run.open(averaged).checkpoint("best") / MODEL
    assert same(tensors(tmp_path, 0, MODEL), load_file(best))


@pytest.mark.parametrize("decay", [-0.1, 1.0])
def test_a_decay_that_is_none_is_one_line(decay: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    setting = f"optimizer.average_decay={decay}"
    assert main(["train", "configs/headlines-docstrings.toml", "--set", setting, "--out", str(tmp_path)]) == 2
    told = f"optimizer.average_decay must be at least 0 and below 1, not {decay}"
    assert capsys.readouterr().err.strip().endswith(told)
