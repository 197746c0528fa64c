"""Steps that are not finite are skipped and counted; too many in a row, a full disk or a read-only folder end a run."""

import errno
import math
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from bangbang import config as configs
from bangbang.errors import InputError
from bangbang.training import checkpoint, loop, retention, train
from bangbang.training.learner import Learner
from tests.training.test_loop import losses


@pytest.fixture
def poison(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Calls of the learner, from 0, whose losses become NaN."""
    calls, poisoned = iter(range(1000)), set[int]()
    forward = Learner.forward

    def spoiled(self: Learner, *arguments: object) -> object:
        result = forward(self, *arguments)  # type: ignore[arg-type]
        if next(calls) in poisoned:
            spoilt = (result if isinstance(result, torch.Tensor) else result[0]) * math.nan
            return spoilt if isinstance(result, torch.Tensor) else (spoilt, *result[1:])
        return result

    monkeypatch.setattr(Learner, "forward", spoiled)
    return poisoned


def test_a_bad_step_changes_nothing_and_is_counted(tiny_config: Path, tmp_path: Path, poison: set[int]) -> None:
    poison |= {2, 3}
    settings = ["training.max_steps=6", "training.log_every=1", "training.validate_every=1"]
    settings += ["training.keep_checkpoints=9"]
    outcome = train(configs.read(tiny_config, settings), tmp_path)
    assert outcome.progress.step == 6
    assert outcome.progress.skipped == 2 and outcome.progress.skipped_in_a_row == 0
    folders = [tmp_path / "checkpoints" / checkpoint.name_of(step) for step in range(1, 7)]
    saved = [(folder / checkpoint.MODEL).read_bytes() for folder in folders]
    assert saved[1] == saved[2] == saved[3] and saved[3] != saved[4]
    assert all(math.isfinite(loss) for loss in losses(tmp_path).values())


def test_too_many_in_a_row_stop_the_run_and_leave_the_last_checkpoint(
    tiny_config: Path, tmp_path: Path, poison: set[int]
) -> None:
    poison |= {*range(4, 20)}
    settings = ["training.max_steps=60", "training.validate_every=4", "training.max_skipped=3"]
    with pytest.raises(InputError, match=r"step 7: .* not finite in 3 steps in a row.*learning_rate"):
        train(configs.read(tiny_config, settings), tmp_path)
    kept = retention.newest_whole(tmp_path / "checkpoints")
    assert kept is not None and kept.state.progress.step == 4 and not kept.damaged


def test_weights_that_are_not_finite_are_never_saved(tmp_path: Path) -> None:
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    checkpoint.save(tmp_path, model, optimizer, checkpoint.Progress(step=1))
    with torch.no_grad():
        model.weight[0, 0] = math.inf
    with pytest.raises(InputError, match="step 2: no checkpoint is written: 'weight' has a number that is not finite"):
        checkpoint.save(tmp_path, model, optimizer, checkpoint.Progress(step=2))
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000001"]


def limited(config: Path, folder: Path, limit: int, *options: str) -> subprocess.CompletedProcess[str]:
    """Train in a process whose files may not grow beyond `limit` bytes: writes fail as on a full disk."""
    return subprocess.run(
        [sys.executable, "-m", "bangbang", "train", str(config), "--out", str(folder), *options],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_full_disk_is_a_clear_error_and_nothing_is_lost(tiny_run: Path, tiny_config: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    train(configs.read(tiny_config, ["training.max_steps=20"]), folder)
    before = (folder / "checkpoints" / "step-00000020" / checkpoint.MODEL).read_bytes()
    ended = limited(tiny_config, folder, 20_000, "--resume")
    assert ended.returncode == 2, ended.stderr
    last = ended.stderr.strip().splitlines()[-1]
    assert last.startswith("bangbang: error: ") and "step-00000040: cannot be written" in last and "--resume" in last
    assert (folder / "checkpoints" / "step-00000020" / checkpoint.MODEL).read_bytes() == before
    assert [path.name for path in (folder / "checkpoints").iterdir()] == ["step-00000020"]
    train(configs.read(tiny_config), folder, resume=True)
    names = [Path("checkpoints") / "step-00000060" / name for name in (checkpoint.MODEL, checkpoint.OPTIMIZER)]
    assert all((folder / name).read_bytes() == (tiny_run / name).read_bytes() for name in names)


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "make room, then go on with --resume"),
        (errno.EDQUOT, "make room, then go on with --resume"),
        (errno.EROFS, "make the disk writable, then go on with --resume"),
        (errno.EACCES, "get permission to write there, then go on with --resume"),
        (errno.EMFILE, "allow more open files (ulimit -n), then go on with --resume"),
        (errno.EPIPE, "; go on with --resume"),
    ],
)
@pytest.mark.parametrize("place", ["training", "checkpoint"])
def test_advice_follows_the_cause(
    tiny_config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, advice: str, place: str
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    target = {"training": (loop.Trainer, "take_step"), "checkpoint": (checkpoint, "checksum")}
    monkeypatch.setattr(*target[place], fails)
    with pytest.raises(InputError) as raised:
        train(configs.read(tiny_config, ["training.max_steps=1"]), tmp_path / "run")
    message = str(raised.value)
    assert os.strerror(number) in message and message.endswith(advice)
    assert ("make room" in message) == (number in (errno.ENOSPC, errno.EDQUOT))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_a_clear_error(tiny_config: Path, tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    with pytest.raises(InputError, match="cannot be written"):
        train(configs.read(tiny_config), tmp_path / "run")
    tmp_path.chmod(0o755)
