"""A run with stages is explained by the stage that led to the checkpoint."""

import json
from pathlib import Path
from typing import Any

import pytest

from bangbang import config as configs
from bangbang.cli.main import main
from bangbang.explanation import Subject
from bangbang.explanation.subject import validation_example
from bangbang.training import Run, train

STAGES = """
[[stages]]
steps = 3
objective = {kind = "bbspg", p_drop = 0.3, p_drop_delay = 2}

[[stages]]
steps = 3
objective = {kind = "bbspg", p_drop = 0.6, p_drop_delay = 2}
reward = {kind = "rouge-l"}
"""


@pytest.fixture(scope="module")
def staged(tiny_config: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a checkpoint of every step, that of the start too."""
    folder = tmp_path_factory.mktemp("stages")
    often = ["training.validate_every=1", "training.validation_examples=2", "training.keep_checkpoints=9"]
    train(configs.read(tiny_config, [*often, "training.max_steps=1"]), folder / "first")
    (folder / "config.toml").write_text(tiny_config.read_text() + STAGES)
    train(configs.read(folder / "config.toml", [*often, f"training.init={folder / 'first'}"]), folder / "run")
    return folder / "run"


@pytest.mark.parametrize(
    ("step", "reward", "p_drop"),
    [
        (0, "RougeN", 0.0),
        (1, "RougeN", 0.0),
        (2, "RougeN", 0.3),
        (3, "RougeN", 0.3),
        (4, "RougeL", 0.0),
        (5, "RougeL", 0.6),
        (6, "RougeL", 0.6),
    ],
)
def test_the_stage_of_the_checkpoint(
    staged: Path, step: int, reward: str, p_drop: float, capsys: pytest.CaptureFixture[str]
) -> None:
    def explained(*options: str) -> dict[str, Any]:
        assert main(["explain", str(staged), "--checkpoint", str(step), "--json", *options]) == 0
        return dict(json.loads(capsys.readouterr().out))

    found = explained()
    assert (found["reward"][0], found["settings"]["p_drop"]) == (reward, p_drop)
    if step in (3, 6):
        targets = explained("--targets", "--samples", "2")
        assert targets["reward"][0] == reward and f"{p_drop:g}" in targets["methods"][2]["about"]


def test_also_where_max_steps_was_lowered_afterwards(staged: Path) -> None:
    run = Run.open(staged)
    run.config = configs.override(run.config, ["training.max_steps=2"])
    found = [Subject.of(run, validation_example(run, 1), str(step)) for step in (3, 4)]
    assert [(subject.leg.number, subject.step) for subject in found] == [(0, 3), (1, 1)]
