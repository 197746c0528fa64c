"""Methods that are held near their start: the run keeps those weights, and goes on with them to the bit."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from safetensors.torch import load_file

from bangbang import config as configs
from bangbang.config import Config
from bangbang.errors import InputError
from bangbang.training import Run, checkpoint, stage_start, train
from tests.training.test_loop import weights
from tests.training.test_stages import interrupt, lines, staged

BOUNDARY, END = 3, 9
STAGES = """
[[stages]]
steps = 3

[[stages]]
steps = 6
start = "START"
objective = {kind = "rloo", samples = 2, kl = 0.5, likelihood = 0.1}
optimizer = {learning_rate = 0.001}
"""
BOTH = pytest.mark.parametrize("start", ["last", "best"])


def config_of(tiny_config: Path, start: str, *settings: str) -> Config:
    """Validations come after steps 2, 3, 4, 6, ...; the first is the best, as all score 0."""
    return staged(tiny_config, "training.keep_checkpoints=1", *settings, start=start, stages=STAGES)


@pytest.fixture(scope="module")
def whole(tiny_config: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    folder = tmp_path_factory.mktemp("anchored")
    for start in ("last", "best"):
        train(config_of(tiny_config, start), folder / start)
    return lambda start: folder / start


def start_weights(folder: Path, stage: int) -> dict[str, bytes]:
    found = load_file(stage_start.folder_of(folder / "checkpoints", stage) / checkpoint.MODEL)
    return {name: tensor.numpy().tobytes() for name, tensor in found.items()}


@BOTH
def test_the_run_keeps_the_weights_that_the_stage_began_with(tiny_config: Path, tmp_path: Path, start, whole) -> None:
    """And none of a stage that does not ask for them. Of the checkpoints it keeps the last, and the best."""
    train(config_of(tiny_config, start, f"training.max_steps={BOUNDARY}", "training.keep_checkpoints=9"), tmp_path)
    assert not list((tmp_path / "checkpoints").glob("start-*"))
    began = weights(tmp_path, 2 if start == "best" else BOUNDARY)
    kept = start_weights(whole(start), 1)
    assert kept == {name: began[name] for name in kept} and "head.weight" in kept
    names = {path.name for path in (whole(start) / "checkpoints").iterdir()}
    assert names == {"start-2", checkpoint.name_of(2), checkpoint.name_of(END)}


@BOTH
@pytest.mark.parametrize(("after", "crash"), [(BOUNDARY, True), (5, False), (5, True), (8, True)])
def test_resumed_equals_uninterrupted_to_the_bit(
    tiny_config: Path, tmp_path: Path, start: str, after: int, crash: bool, whole: Callable[[str], Path]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        interrupt(patch, after, crash)
        if crash:
            with pytest.raises(MemoryError):
                train(config_of(tiny_config, start), tmp_path)
        else:
            train(config_of(tiny_config, start), tmp_path)
    (tmp_path / "checkpoints" / ".start-2.0a0b0c").mkdir()  # what a killed process left
    train(config_of(tiny_config, start), tmp_path, resume=True)
    assert weights(tmp_path, END) == weights(whole(start), END)
    assert lines(tmp_path) == lines(whole(start))
    assert not list((tmp_path / "checkpoints").glob(".start-*"))


def test_the_divergence_is_felt(tiny_config: Path, tmp_path: Path, whole: Callable[[str], Path]) -> None:
    train(config_of(tiny_config, "last", "stages.2.objective.kl=0.0"), tmp_path)
    assert weights(tmp_path, END) != weights(whole("last"), END)
    assert not list((tmp_path / "checkpoints").glob("start-*"))


@pytest.mark.parametrize("init", [False, True], ids=["cold", "from a run"])
def test_a_run_without_stages_is_held_near_its_own_start(
    tiny_config: Path, tiny_run: Path, tmp_path: Path, init: bool
) -> None:
    settings = ["objective.kind=scst", "objective.kl=0.1", "training.max_steps=2", "training.validation_examples=4"]
    train(configs.read(tiny_config, [*settings, *([f"training.init={tiny_run}"] if init else [])]), tmp_path)
    kept = start_weights(tmp_path, 0)
    if init:
        found = load_file(Run.open(tiny_run).checkpoint("best") / checkpoint.MODEL)
        assert kept == {name: tensor.numpy().tobytes() for name, tensor in found.items()}
    train(configs.read(tmp_path / "config.toml", ["training.max_steps=3"]), tmp_path, resume=True)
    assert start_weights(tmp_path, 0) == kept


@pytest.mark.parametrize("file", ["", checkpoint.MODEL, checkpoint.STATE])
@pytest.mark.parametrize("damage", ["missing", "flipped"])
def test_a_start_that_is_damaged_or_gone_is_named(tiny_config: Path, tmp_path: Path, whole, file, damage) -> None:
    shutil.copytree(whole("last"), tmp_path / "run")
    path = stage_start.folder_of(tmp_path / "run" / "checkpoints", 1) / file
    if damage == "missing":
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    elif file:
        content = bytearray(path.read_bytes())
        content[-4] ^= 1
        path.write_bytes(content)
    else:
        return
    told = r"start-2/.*; stage 2 needs the weights it began with: put the folder back, or train anew"
    with pytest.raises(InputError, match=told) as raised:
        train(config_of(tiny_config, "last"), tmp_path / "run", resume=True)
    assert "\n" not in str(raised.value)
