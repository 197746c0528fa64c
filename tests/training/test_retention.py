"""Which checkpoint a run goes on from, and what becomes of damaged and half-made ones."""

import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from bangbang.cli.main import main
from bangbang.errors import InputError
from bangbang.files import read_json, write_whole
from bangbang.training import Run, checkpoint, retention
from tests.training.test_loop import weights


@pytest.fixture
def run(tiny_run: Path, tmp_path: Path) -> Path:
    """A copy of the finished run to do damage to."""
    folder = tmp_path / "run"
    shutil.copytree(tiny_run, folder)
    return folder


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)


def newest(run: Path) -> Path:
    return retention.listed(run / "checkpoints")[-1]


@pytest.mark.parametrize("name", [checkpoint.MODEL, checkpoint.OPTIMIZER, checkpoint.STATE])
@pytest.mark.parametrize("damage", [flip_a_bit, Path.unlink])
def test_resume_takes_the_newest_whole_one_and_ends_in_the_same_weights(
    run: Path, tiny_run: Path, name: str, damage: object, capsys: pytest.CaptureFixture[str]
) -> None:
    damage(newest(run) / name)  # type: ignore[operator]
    assert main(["train", "--resume", "--out", str(run)]) == 0
    error = " ".join(capsys.readouterr().err.split())
    assert (
        "damaged, set aside: " in error and f"step-00000060/{name}" in error and "going on from step-00000040" in error
    )
    assert weights(run, 60) == weights(tiny_run, 60)
    assert (run / "checkpoints" / "damaged-step-00000060").is_dir()


def test_all_damaged_is_an_error_that_loses_nothing(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in retention.listed(run / "checkpoints"):
        flip_a_bit(path / checkpoint.MODEL)
    before = sorted(path for path in run.rglob("*"))
    assert main(["train", "--resume", "--out", str(run)]) == 2
    assert "every checkpoint is damaged" in capsys.readouterr().err
    assert sorted(path for path in run.rglob("*")) == before


def test_what_a_killed_process_left_is_removed(run: Path) -> None:
    (run / "checkpoints" / ".step-00000070.abc").mkdir()
    assert main(["train", "--resume", "--out", str(run)]) == 0
    assert not list((run / "checkpoints").glob(".*"))


def test_a_checkpoint_of_another_step_is_damaged(run: Path) -> None:
    newest(run).rename(run / "checkpoints" / "step-00000061")
    with pytest.raises(InputError, match="is of step 60"):
        checkpoint.read_state(newest(run))


def test_removing_a_checkpoint_never_shows_a_part(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    folder = run / "checkpoints"
    monkeypatch.setattr(shutil, "rmtree", killed)
    with pytest.raises(KeyboardInterrupt):
        retention.prune(folder, keep=1, best_step=60)
    for path in retention.listed(folder):
        checkpoint.read_state(path)


def test_an_edited_config_is_refused(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = run / "config.toml"
    path.write_text(path.read_text().replace("learning_rate = 0.02", "learning_rate = 0.03"))
    assert main(["train", "--resume", "--out", str(run)]) == 2
    assert "another config: optimizer.learning_rate was 0.02" in capsys.readouterr().err


def swap_two_words(path: Path) -> None:
    text = path.read_text()
    one, two = '"editor":', '"parser":'
    assert one in text and two in text
    path.write_text(text.replace(one, "\0").replace(two, one).replace("\0", two))


def test_another_vocabulary_is_refused(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    swap_two_words(run / "vocabulary.json")
    assert main(["train", "--resume", "--out", str(run)]) == 2
    assert "vocabulary.json: is not the vocabulary of" in capsys.readouterr().err
    with pytest.raises(InputError, match="was made with another vocabulary"):
        Run.open(run).load_model()


def resum(folder: Path) -> None:
    """Make a changed checkpoint's checksums right again, as somebody with bad intent would."""
    import json

    state = read_json(folder / checkpoint.STATE)
    state["sha256"] = {name: checkpoint.checksum(folder / name) for name in (checkpoint.MODEL, checkpoint.OPTIMIZER)}
    write_whole(folder / checkpoint.STATE, json.dumps(state))


@pytest.mark.parametrize("name", [checkpoint.MODEL, checkpoint.OPTIMIZER])
def test_numbers_that_are_not_finite_are_refused(run: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = newest(run) / name
    tensors = load_file(path)
    next(value for value in tensors.values() if value.ndim).flatten()[0] = float("nan")
    save_file(tensors, path)
    resum(newest(run))
    assert main(["train", "--resume", "--out", str(run)]) == 2
    assert "not finite" in capsys.readouterr().err


def test_an_incomplete_optimizer_is_refused(run: Path) -> None:
    path = newest(run) / checkpoint.OPTIMIZER
    tensors = load_file(path)
    del tensors[next(name for name in tensors if name.endswith("exp_avg"))]
    save_file(tensors, path)
    model = Run.open(run).build_model()
    with pytest.raises(InputError, match="another optimiser"):
        checkpoint.load_optimizer(newest(run), model, torch.optim.AdamW(model.parameters()))


def test_a_run_in_use_is_refused(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from bangbang.locks import locked

    with locked(run):
        assert main(["train", "--resume", "--out", str(run)]) == 2
    assert "in use by process" in capsys.readouterr().err
