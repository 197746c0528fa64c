"""Guests whose settings are not what a kind must be."""

from dataclasses import dataclass
from importlib.metadata import EntryPoint

import pytest

from bangbang import registry
from bangbang.cli.main import main
from bangbang.models.settings import ModelSettings
from bangbang.objectives.settings import ObjectiveSettings
from bangbang.rewards.settings import RewardSettings


@dataclass(frozen=True)
class NoObjective(ObjectiveSettings):
    """Settings that build nothing."""


@dataclass(frozen=True)
class NoModel(ModelSettings):
    """Settings that build nothing."""


@dataclass(frozen=True)
class NoReward(RewardSettings):
    """Settings that build nothing."""


@pytest.mark.parametrize(
    ("group", "table", "name", "missing"),
    [
        ("objectives", "objective", "NoObjective", "build"),
        ("models", "model", "NoModel", "build"),
        ("rewards", "reward", "NoReward", "main"),
    ],
)
def test_settings_that_do_not_say_what_they_build_are_one_line(
    group: str,
    table: str,
    name: str,
    missing: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    point = EntryPoint("careless", f"{__name__}:{name}", f"bangbang.{group}")
    monkeypatch.setattr(registry, "entry_points", lambda group: [point] if group == point.group else [])
    told = f"{__name__}:{name} does not define {missing}"
    assert main(["train", "configs/headlines-docstrings.toml", "--set", f"{table}.kind=careless", "--out", "x"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert told in line
    assert main(["plugins", group]) == 0
    assert told in " ".join(capsys.readouterr().out.split())
