"""What is suggested for a path that is not there, and that nothing is where nothing is like it."""

from pathlib import Path

import pytest

from bangbang.nearness import near, near_config, near_number, near_run


def test_names() -> None:
    assert near("trian", ["train", "tune"]) == "; did you mean 'train'?"
    assert near("fly", ["train", "tune"]) == ""


@pytest.mark.parametrize(
    ("text", "whole", "told"),
    [
        ("1,000", True, "; did you mean 1000?"),
        ("1,000", False, "; did you mean 1000?"),
        ("-1,234,567.5", False, "; did you mean -1234567.5?"),
        ("0,6", False, "; did you mean 0.6?"),
        ("0,001", False, "; did you mean 0.001?"),
        (",5", False, "; did you mean .5?"),
        ("1,2", True, "; several stand apart: 1 2"),
        ("six", True, ""),
        ("1,,2", True, ""),
        ("", False, ""),
    ],
)
def test_numbers(text: str, whole: bool, told: str) -> None:
    assert near_number(text, whole) == told


def test_configs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert near_config(Path("mine.toml")) == ""
    Path("mine.toml").touch()
    Path("configs").mkdir()
    Path("configs/ours.toml").touch()
    assert near_config(Path("mine")) == near_config(Path("mien.toml")) == "; did you mean 'mine.toml'?"
    assert near_config(Path("ours")) == near_config(Path("gone/ours.toml")) == "; did you mean 'configs/ours.toml'?"
    Path("mine.jsonl").touch()
    Path("begun").mkdir()
    Path("begun/config.toml").touch()
    assert near_config(Path("mine")) == "; did you mean 'mine.toml'?"
    assert near_config(Path("begun")) == "; did you mean 'begun/config.toml'?"
    Path("mine.toml").unlink()
    assert near_config(Path("mine")) == ""
    assert near_config(Path("x" * 255)) == near_config(Path("nothing/alike")) == ""


def test_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert near_run(Path("runs")) == ""
    run = Path("runs/first/runs/mle-seed1")
    run.mkdir(parents=True)
    (run / "config.toml").touch()
    assert near_run(Path("runs/first")) == near_run(run.with_name("mle-sed1")) == f"; did you mean {str(run)!r}?"
    (run / "checkpoints").mkdir()
    assert near_run(run / "checkpoints") == f"; did you mean {str(run)!r}?"
    assert near_run(Path("elsewhere/mle")) == ""
