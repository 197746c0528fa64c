"""A real reproduction of a few steps: killed, interrupted, gone on with, and equal to trainings nobody disturbed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from bangbang.cli.main import main
from bangbang.locks import read_holder
from bangbang.reproduction.status import latest
from bangbang.training import Run, retention

METHODS = ["mle", "pg-mle", "spg-0.4"]
SETTINGS = ["vocabulary.split=words", "model.units=24", "training.batch_size=16", "training.max_steps=70"]
SETTINGS += ["training.validate_every=35", "training.log_every=2", "optimizer.learning_rate=0.02"]
PATIENCE_SECONDS = 300


def command(corpus: Path, out: Path, *more: str, jobs: int = 2) -> list[str]:
    words = ["reproduce", "headlines", "--corpus", str(corpus), "--out", str(out), "--methods", *METHODS]
    words += ["--jobs", str(jobs)]
    changes = [*SETTINGS, f"data.cache={corpus.parent / 'cache'}"]
    return [*words, *(word for setting in changes for word in ("--set", setting)), *more]


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.005)


@contextmanager
def started(arguments: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A reproduction in a process of its own, which does not outlive the block."""
    with log.open("w") as file:
        process = subprocess.Popen([sys.executable, "-m", "bangbang", *arguments], stdout=file, stderr=file)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def weights(run: Path) -> dict[str, bytes]:
    checkpoint = Run.open(run).checkpoint("last")
    files = (checkpoint / "model.safetensors", checkpoint / "optimizer.safetensors")
    return {name: tensor.numpy().tobytes() for file in files for name, tensor in load_file(file).items()}


@pytest.fixture
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module", autouse=True)
def one_thread_of_trainings() -> Iterator[None]:
    """Trainings take as many threads as the environment says, and only with as many are weights the same to the bit."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        yield


@pytest.fixture(scope="module")
def out(tiny_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reproduction that was killed once and interrupted once, and is then trained to the end."""
    folder = tmp_path_factory.mktemp("reproduction")
    out, log, arguments = folder / "out", folder / "log", command(tiny_corpus, folder / "out")
    mle, spg = out / "runs" / "mle-seed1", out / "runs" / "spg-0.4-seed1"

    with started(command(tiny_corpus, out, jobs=1), log):
        until(lambda: latest(mle, "rouge-l").step >= 10)
        child = holder(mle)
        os.kill(child, signal.SIGSTOP)  # it must not come to its end before it looks for its parent again
    time.sleep(1.5)
    os.kill(child, signal.SIGCONT)
    until(lambda: not alive(child))
    assert 10 <= retention.step_of(retention.listed(mle / "checkpoints")[-1]) < 70, (
        "the child saved when its parent was gone"
    )

    with started(arguments, log) as parent:
        until(lambda: latest(mle, "rouge-l").step > 10 and latest(spg, "rouge-l").step > 10)
        parent.terminate()
        assert parent.wait(PATIENCE_SECONDS) == 130
    assert "go on with: bangbang reproduce headlines" in log.read_text()
    assert not alive(holder(mle)) and not alive(holder(spg))
    assert not (out / "results.json").exists()

    assert main(arguments) == 0
    return out


def holder(run: Path) -> int:
    """The process that last held a run folder."""
    descriptor = os.open(run / ".lock", os.O_RDONLY)
    try:
        return int(read_holder(descriptor)["process"])
    finally:
        os.close(descriptor)


def alive(pid: int) -> bool:
    """Whether a process is there and is more than an entry that nobody asked for yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.slow
def test_it_equals_what_its_commands_train(
    out: Path, tiny_corpus: Path, tmp_path: Path, one_thread: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command(tiny_corpus, tmp_path / "other", "--dry-run", "--json")) == 0
    trainings = json.loads(capsys.readouterr().out)["trainings"]
    shutil.copytree(out, tmp_path / "other", ignore=shutil.ignore_patterns("runs"))
    assert [each["name"] for each in trainings] == ["mle-seed1", "pg-mle-seed1", "spg-0.4-seed1"]
    for each in trainings:
        _, *words = each["command"].split()
        assert main(words) == 0
        assert weights(tmp_path / "other" / "runs" / each["name"]) == weights(out / "runs" / each["name"])


@pytest.mark.slow
def test_it_ends_with_a_report(out: Path) -> None:
    results = json.loads((out / "results.json").read_text())
    assert [row["label"] for row in results["rows"]] == ["MLE", "PG from MLE", "SPG 0.4"]
    assert results["commands"][0].startswith("bangbang reproduce headlines")
    assert (out / "report.html").exists()
    assert {path.name for path in (out / "logs").iterdir()} == {f"{name}-seed1.log" for name in METHODS}


@pytest.mark.slow
def test_what_is_done_is_skipped(out: Path, tiny_corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs = {path.name: path.stat().st_size for path in (out / "logs").iterdir()}
    assert main(command(tiny_corpus, out, "--json")) == 0
    shown = capsys.readouterr()
    assert "3 of 3 trainings are done already" in shown.err
    assert shown.out == (out / "results.json").read_text()
    assert logs == {path.name: path.stat().st_size for path in (out / "logs").iterdir()}


@pytest.mark.slow
def test_a_changed_plan_is_refused(out: Path, tiny_corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command(tiny_corpus, out, "--set", "model.dropout=0.3")) == 2
    assert "mle-seed1: was begun with another plan: model.dropout was 0.2, now 0.3" in capsys.readouterr().err
    assert main(command(tiny_corpus, out, "--set", "training.max_steps=200")) == 2
    assert "training.max_steps was 70, now 200" in capsys.readouterr().err


@pytest.mark.slow
def test_another_corpus_is_refused(
    out: Path, tiny_corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As when packages are installed between two sittings on the docstrings."""
    copy = Path(shutil.copytree(out, tmp_path / "copy"))
    facts = copy / "runs" / "spg-0.4-seed1" / "corpus.json"
    facts.write_text(json.dumps({**json.loads(facts.read_text()), "fingerprint": "another"}))
    assert main(command(tiny_corpus, copy)) == 2
    assert "spg-0.4-seed1: was trained on another" in capsys.readouterr().err


@pytest.mark.slow
def test_a_failure_is_shown_and_the_others_go_on(
    out: Path, tiny_corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = Path(shutil.copytree(out, tmp_path / "copy"))
    for name in ("mle-seed1", "pg-mle-seed1"):
        shutil.rmtree(copy / "runs" / name)
    (copy / "runs" / "mle-seed1").mkdir()
    (copy / "runs" / "mle-seed1" / "samples").symlink_to(tmp_path)
    assert main(command(tiny_corpus, copy)) == 1
    shown = capsys.readouterr()
    assert "mle-seed1: FAILED: exit code 2 at step 0:" in shown.err
    assert "samples: is a symbolic link" in shown.err
    assert "pg-mle-seed1: FAILED: it starts from mle-seed1, which failed" in shown.err
    assert [row["label"] for row in json.loads((copy / "results.json").read_text())["rows"]] == ["SPG 0.4"]


@pytest.mark.slow
def test_two_at_once_are_refused(out: Path, tiny_corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from bangbang.locks import locked

    with locked(out):
        assert main(command(tiny_corpus, out)) == 2
    assert "in use by process" in capsys.readouterr().err
