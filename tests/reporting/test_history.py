"""What was trained before a run: the run it started from, and what that one started from."""

import json
from pathlib import Path

import pytest

from bangbang import config as configs
from bangbang.config import Config
from bangbang.reporting.history import Before, read_before

SCORES = {"rouge-1": 1.0, "rouge-2": 1.0, "rouge-l": 1.0}


def make_run(folder: Path, steps: int, seconds: float, init: str = "") -> Config:
    """A run as far as its history goes."""
    folder.mkdir()
    config = configs.override(Config(), [f"training.init={json.dumps(init)}"])
    (folder / "config.toml").write_text(configs.dumps(config))
    lines = [
        {"kind": "valid", "step": steps - 1, "seconds": seconds - 1, **SCORES},
        {"kind": "train", "step": steps, "seconds": seconds, "examples_per_second": 1.0},
    ]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return config


def test_steps_and_seconds_add_up(tmp_path: Path) -> None:
    cold = make_run(tmp_path / "mle", 100, 50.0)
    warm = make_run(tmp_path / "pg", 30, 20.0, str(tmp_path / "mle"))
    third = make_run(tmp_path / "rloo", 7, 5.0, str(tmp_path / "pg"))
    assert read_before(cold) == Before() == Before(0, 0.0)
    assert read_before(warm) == Before(100, 50.0)
    assert read_before(third) == Before(130, 70.0)


@pytest.mark.parametrize("start", ["gone", "self"])
def test_what_is_not_known(tmp_path: Path, start: str) -> None:
    """A run that is gone, or one that says it starts from itself."""
    assert read_before(make_run(tmp_path / "self", 7, 5.0, str(tmp_path / start))) is None
