"""`bangbang bench serve` asks over real connections, and has the keys that programs read."""

import json
from pathlib import Path

import pytest

from bangbang.cli.main import main
from benchmarks.serve import Reply, summary


def test_two_hundred_requests_of_eight_clients_are_answered(tiny_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "serve", "--run", str(tiny_run), "--requests", "200", "--clients", "8", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["errors"] == 0 and result["requests"] == 200 and result["queueing"] > 0
    assert 0 < result["together"]["median"] <= result["together"]["p95"] <= result["together"]["longest"]


def test_the_percentile_is_of_the_nearest_rank() -> None:
    replies = [Reply(200, seconds / 100) for seconds in range(1, 101)]
    assert summary(replies) == {"median": 0.51, "p95": 0.95, "longest": 1.0}
    assert summary(replies[:1])["p95"] == 0.01


def test_a_refusal_is_counted(
    tiny_run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("bangbang.serving.questions.METHODS", ("beam",))
    assert main(["bench", "serve", "--run", str(tiny_run), "--requests", "3"]) == 0
    assert "3 requests, greedy: 6 errors" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [(["--requests", "0"], "must be at least 1"), (["--clients", "0"], "must be at least 1")],
)
def test_bad_options_are_told(
    tiny_run: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "serve", "--run", str(tiny_run), *options]) == 2
    assert message in capsys.readouterr().err


def test_a_run_of_images_is_refused(shapes_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "serve", "--run", str(shapes_run)]) == 2
    assert "reads images; name a run that reads texts" in capsys.readouterr().err
