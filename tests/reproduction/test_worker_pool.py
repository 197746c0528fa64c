"""Parts of carrying out a plan that need no training."""

import signal
import time
from pathlib import Path

import pytest

from bangbang.locks import locked
from bangbang.reproduction import Outline, WorkerPool, make_plan, read_budget
from bangbang.reproduction.display import Display
from bangbang.reproduction.status import Latest, last_lines, latest
from bangbang.reproduction.worker_pool import ended, environment, threads_of


@pytest.fixture
def pool(tmp_path: Path) -> WorkerPool:
    plan = make_plan("headlines", "small", read_budget("headlines", "", "small"), tmp_path, ["mle", "pg-mle"])
    return WorkerPool(plan, 2)


def display_of(pool: WorkerPool) -> Display:
    return Display(pool.plan, pool.steps, pool.done)


def test_a_run_that_another_process_holds_is_waited_for(pool: WorkerPool, capsys: pytest.CaptureFixture[str]) -> None:
    training, display = pool.waiting[0], display_of(pool)
    with locked(training.folder):
        assert not pool.can_begin(training, display)
        assert not pool.can_begin(training, display)
    assert capsys.readouterr().err.count("in use by process") == 1
    assert pool.can_begin(training, display)


def test_a_run_waits_for_what_it_starts_from(pool: WorkerPool) -> None:
    warm, display = pool.waiting[1], display_of(pool)
    assert warm.after == "mle-seed1"
    assert not pool.can_begin(warm, display)
    pool.done.add("mle-seed1")
    assert pool.can_begin(warm, display)


def test_how_a_process_ended() -> None:
    assert ended(-signal.SIGKILL) == "killed by SIGKILL"
    assert (ended(0), ended(2)) == ("was stopped", "exit code 2")


def test_one_thread_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert environment()["OMP_NUM_THREADS"] == "1"
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert environment()["OMP_NUM_THREADS"] == "3"


def test_a_start_that_all_others_wait_for_has_all_threads(tmp_path: Path) -> None:
    config = read_budget("headlines", "", "first")
    shared = make_plan("headlines", "first", config, tmp_path, ["first"])
    assert [threads_of(each, shared, 2) for each in shared.trainings] == [2, 1, 1]
    apart = make_plan("headlines", "first", config, tmp_path, ["mle", "pg-mle", "raml"])
    assert [threads_of(each, apart, 2) for each in apart.trainings] == [1, 1, 1]
    assert threads_of(apart.trainings[0], apart._replace(trainings=apart.trainings[:1]), 2) == 1


def test_the_journal_is_read_while_it_is_written(tmp_path: Path) -> None:
    assert latest(tmp_path, "rouge-l") == Latest(0, None)
    lines = ['{"kind": "train", "step": 20, "loss": 1}', '{"kind": "valid", "step": 20, "rouge-l": 7.5}']
    (tmp_path / "metrics.jsonl").write_text(
        "\n".join(
            [*lines, '{"step": Infinity}', "[" * 30_000, '{"kind": "train", "step": 30, "loss": 1}', '{"kind": "tr']
        )
    )
    assert latest(tmp_path, "rouge-l") == Latest(30, 7.5)
    assert last_lines(tmp_path / "metrics.jsonl", 1) == ['{"kind": "tr']


def test_the_eta_is_by_the_pace_of_this_sitting(pool: WorkerPool, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: clock)
    display, training = display_of(pool), pool.waiting[0]
    display.begin(training)
    assert display.eta() == "?"
    display.show({training.name: (100, None)})
    clock += 60
    display.show({training.name: (300, 12.5)})
    assert display.eta() == "8.5 min"  # 200 steps a minute, and 1,700 of 2,000 are left


def test_what_is_left_by_the_pace_so_far(pool: WorkerPool) -> None:
    outline = Outline.of(pool.plan, jobs=2)
    assert outline.seconds is None
    begun = outline._replace(found=[outline.found[0]._replace(step=500, seconds=50.0), outline.found[1]])
    assert begun.seconds == pytest.approx(0.1 * (500 + 1000) / 2)
    assert begun.plain()["trainings"][0]["step"] == 500
    early = begun._replace(found=[begun.found[0]._replace(done=True), begun.found[1]])  # out of patience
    assert early.seconds == pytest.approx(0.1 * 1000 / 2)
