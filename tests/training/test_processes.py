"""Two gloo processes started by torchrun: they equal one process with twice the batch, through signals and deaths."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from safetensors.torch import load_file
from torch.distributed import TCPStore

from bangbang import config as configs
from bangbang.cli.train import resume_line
from bangbang.errors import InputError
from bangbang.training import checkpoint, loop, retention, train
from tests.conftest import TINY_CONFIG, write_corpus
from tests.training.test_loop import weights

STEPS = 50
TORCHRUN = (sys.executable, "-m", "torch.distributed.run")
TWO = (*TORCHRUN, "--standalone", "--nproc_per_node", "2")
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def launched(*arguments: str, launch: tuple[str, ...] = TWO) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*launch, *arguments], env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """No dropout, whose masks depend on the rank; validation of more than one batch, so that both ranks decode."""
    folder = tmp_path_factory.mktemp("processes")
    corpus = write_corpus(folder / "corpus", {"train": 300, "valid": 150, "test": 5})
    text = TINY_CONFIG.format(corpus=corpus, cache=folder / "cache", steps=STEPS)
    path = folder / "config.toml"
    path.write_text(text.replace("dropout = 0.1", "dropout = 0.0").replace("log_every = 10", "log_every = 1"))
    return path


@pytest.fixture(scope="module")
def pair(config: Path) -> Path:
    """The run of two processes, never interrupted."""
    folder = config.parent / "pair"
    process = launched("-m", "bangbang", "train", str(config), "--out", str(folder))
    output, error = process.communicate()
    assert process.returncode == 0, error
    assert output.count("minutes of training") == 1, "only one process speaks"
    return folder


def records(folder: Path, kind: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").open()]
    return [line for line in lines if line["kind"] == kind]


def test_equals_one_process_with_twice_the_batch(config: Path, pair: Path, tmp_path: Path) -> None:
    train(configs.read(config, ["training.batch_size=32"]), tmp_path)
    one, two = records(tmp_path, "train"), records(pair, "train")
    assert [line["step"] for line in two] == [line["step"] for line in one] == list(range(1, STEPS + 1))
    for name in ("loss", "gradient_norm"):
        assert [line[name] for line in two] == pytest.approx([line[name] for line in one], rel=1e-5), name
    for alone, shared in zip(records(tmp_path, "valid"), records(pair, "valid"), strict=True):
        assert {**shared, "seconds": 0} == {**alone, "seconds": 0}
    files = [folder / "checkpoints" / checkpoint.name_of(STEPS) / checkpoint.MODEL for folder in (tmp_path, pair)]
    for name, weight in load_file(files[0]).items():
        torch.testing.assert_close(load_file(files[1])[name], weight, rtol=1e-4, atol=1e-4)


def test_accelerate_starts_them_too(config: Path, pair: Path, tmp_path: Path) -> None:
    launch = (sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2")
    few = ("--set", "training.max_steps=5", "--set", "training.validation_examples=8")
    start = ("--main_process_port", "0", "--module", "bangbang", "train", str(config), "--out", str(tmp_path), *few)
    process = launched(*start, launch=launch)
    output, error = process.communicate()
    assert process.returncode == 0, error
    assert output.count("minutes of training") == 1, "only one process speaks"
    ours, theirs = ([line["loss"] for line in records(folder, "train")[:5]] for folder in (pair, tmp_path))
    assert len(theirs) == 5 and theirs == ours


def test_caption_models_too(shapes_config: Path, tmp_path: Path) -> None:
    """They have more than parameters: the features' mean and deviation."""
    settings = ["model.dropout=0", "training.max_steps=6", "training.log_every=1", "training.validate_every=6"]
    changes = [part for setting in settings for part in ("--set", setting)]
    size = configs.read(shapes_config).training.batch_size
    process = launched("-m", "bangbang", "train", str(shapes_config), "--out", str(tmp_path / "two"), *changes)
    _, error = process.communicate()
    assert process.returncode == 0, error
    train(configs.read(shapes_config, [*settings, f"training.batch_size={2 * size}"]), tmp_path / "one")
    one, two = ([line["loss"] for line in records(tmp_path / name, "train")] for name in ("one", "two"))
    assert len(two) == 6 and two == pytest.approx(one, rel=1e-5)


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    while not condition():
        assert process.poll() is None, "ended too soon"
        time.sleep(0.002)


def test_a_signal_and_then_a_dead_worker_leave_no_trace(config: Path, pair: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    train_it = ("-m", "bangbang", "train", str(config), "--out", str(folder))
    process = launched(*train_it)
    wait_for(lambda: len(retention.listed(folder / "checkpoints")) == 1, process)
    process.send_signal(signal.SIGTERM)
    output, error = process.communicate()
    assert process.returncode == 1 and "SignalException" in error, "torchrun's own, whatever its workers end with"
    assert f"go on with: torchrun --nproc_per_node 2 -m bangbang train --resume --out {folder}" in output
    newest = retention.newest_whole(folder / "checkpoints")
    assert newest is not None and 20 <= newest.state.progress.step < STEPS

    process = launched("--max-restarts=1", *train_it, "--resume")
    wait_for((folder / "checkpoints" / "step-00000040").exists, process)
    workers = psutil.Process(process.pid).children()
    next(worker for worker in workers if worker.environ().get("RANK") == "1").kill()
    output, error = process.communicate()
    assert process.returncode == 0, error
    assert "going on from step-00000040" in " ".join(error.split()), error
    assert weights(folder, STEPS) == weights(pair, STEPS)


def test_of_several_hosts_no_command_is_made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert resume_line(Path("run")) == "the same command on every host, with --resume"


TALK = """
import sys
import torch
from accelerate import Accelerator
from bangbang.errors import InputError, ReportedElsewhereError
from bangbang.training.distributed import Ranks

ranks = Ranks(Accelerator(cpu=True))
assert ranks.count == 2
assert ranks.any(ranks.rank == 1, False) == [True, False]
assert ranks.gather({"rank": ranks.rank, "text": "ä" * (5 + 20 * ranks.rank)}) == [
    {"rank": rank, "text": "ä" * (5 + 20 * rank)} for rank in (0, 1)
]
assert ranks.from_main("main's" if ranks.is_main else None) == "main's"
assert ranks.together(lambda: ranks.rank, on_main_only=True) == (0 if ranks.is_main else None)

def fails_in_the_second():
    if ranks.rank == 1:
        raise InputError("what happened")

try:
    ranks.together(fails_in_the_second)
except InputError as error:
    assert str(error) == "what happened"
    assert isinstance(error, ReportedElsewhereError) == ranks.is_main
else:
    raise AssertionError
ranks.check_equal(config="same")
try:
    ranks.check_equal(corpus=str(ranks.rank))
except InputError as error:
    assert str(error) == "process 1 of this run has another corpus than process 0"
else:
    raise AssertionError
parameter = torch.nn.Parameter(torch.zeros(3))
optimizer = torch.optim.AdamW([parameter])
if ranks.is_main:
    parameter.grad = torch.ones(3)
    optimizer.step()
ranks.share_optimizer([parameter], optimizer)
assert optimizer.state[parameter]["exp_avg"].tolist() == torch.full((3,), 0.1).tolist()
assert float(optimizer.state[parameter]["step"]) == 1
print("agreed")
"""


def test_what_processes_tell_each_other(tmp_path: Path) -> None:
    script = tmp_path / "talk.py"
    script.write_text(TALK)
    process = launched(str(script))
    output, error = process.communicate()
    assert process.returncode == 0, error
    assert output.count("agreed") == 2


def test_a_restart_resumes_its_own_run_and_no_other(
    tiny_config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two launches with the same --rdzv-id: what tells them apart is torchrun's store, one for each."""
    monkeypatch.setattr(loop, "join", lambda: None)  # a process group would stay for the tests that follow
    monkeypatch.setenv("TORCHELASTIC_USE_AGENT_STORE", "True")
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "headlines")
    monkeypatch.setenv("MASTER_ADDR", "localhost")
    first, second = (TCPStore("localhost", 0, is_master=True, wait_for_workers=False) for _ in range(2))

    def run(launcher: TCPStore, restarts: int, steps: int) -> int:
        monkeypatch.setenv("MASTER_PORT", str(launcher.port))
        monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", str(restarts))
        return train(configs.read(tiny_config, [f"training.max_steps={steps}"]), tmp_path / "run").progress.step

    assert run(first, 0, 3) == 3
    assert run(first, 1, 5) == 5
    assert run(first, 0, 6) == 6, "a restart that began on another host is not counted on this one"
    for restarts in (0, 1, 2):
        with pytest.raises(InputError, match="holds a run already"):
            run(second, restarts, 7)


def test_the_next_launch_is_refused_also_when_torchrun_starts_it_again(config: Path, tmp_path: Path) -> None:
    """Both have the same --rdzv-id, and neither has --resume."""
    folder = tmp_path / "run"
    meeting = ("--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0", "--rdzv-id=headlines", "--max-restarts=1")
    train_it = (*meeting, "-m", "bangbang", "train", str(config), "--out", str(folder))
    process = launched(*train_it, launch=(*TORCHRUN, "--nproc_per_node=1"))
    wait_for((folder / "checkpoints" / "step-00000020").exists, process)
    next(iter(psutil.Process(process.pid).children())).kill()
    _, error = process.communicate()
    assert process.returncode == 0 and "going on from step-000000" in " ".join(error.split()), error

    process = launched(*train_it, launch=(*TORCHRUN, "--nproc_per_node=1"))
    _, error = process.communicate()
    assert process.returncode == 1 and error.count("holds a run already; add --resume") == 2, error
