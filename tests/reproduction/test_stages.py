"""A budget with stages: every training of the plan goes through them, and steps are those of all of them."""

import json
from pathlib import Path

import pytest

from bangbang import config as configs
from bangbang.cli.main import main
from bangbang.reproduction import Outline, WorkerPool, budgets, make_plan, read_budget
from bangbang.reproduction.display import Display
from bangbang.reproduction.plan import changes
from bangbang.reproduction.standing import Standing, standing
from bangbang.training import train

STAGES = """
[[stages]]
steps = 6

[[stages]]
steps = 4
start = "best"
optimizer = {learning_rate = 0.001}
"""


@pytest.fixture
def staged_budget(tiny_config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "budgets").mkdir()
    (tmp_path / "budgets" / "headlines-small.toml").write_text(tiny_config.read_text() + STAGES)
    monkeypatch.setattr(budgets, "FOLDER", tmp_path / "budgets")


@pytest.mark.usefixtures("staged_budget")
def test_steps_are_those_of_all_stages(tmp_path: Path) -> None:
    config = read_budget("headlines", "", "small", ["training.validation_examples=2", "stages.2.steps=5"])
    plan = make_plan("headlines", "small", config, tmp_path, ["mle", "spg-0.4"])
    mle, spg = plan.trainings
    assert WorkerPool(plan, 1).steps == {"mle-seed1": 0, "spg-0.4-seed1": 0}
    train(configs.override(mle.config, ["training.max_steps=7"]), mle.folder)
    assert standing(mle.folder, mle.config)[::2] == (7, False)
    train(mle.config, mle.folder, resume=True)
    assert standing(mle.folder, mle.config)[::2] == (11, True)
    outline = Outline.of(plan, 1)
    assert [(each["steps"], each["step"], each["done"]) for each in outline.plain()["trainings"]] == [
        (11, 11, True),
        (11, 0, False),
    ]
    pace = Outline(plan, 1, [Standing(10, 20.0), Standing(8, 16.0)])
    assert pace.seconds == 2 * (1 + 3)
    pool = WorkerPool(plan, 1)
    assert pool.done == {"mle-seed1"} and [each.name for each in pool.waiting] == [spg.name]
    assert Display(plan, pool.steps, pool.done).limits == {"mle-seed1": 11, "spg-0.4-seed1": 11}


@pytest.mark.usefixtures("staged_budget")
def test_late_is_late_in_the_run_not_in_each_stage(tmp_path: Path) -> None:
    config = read_budget("headlines", "", "small", ["stages.1.steps=4", "stages.2.steps=8"])
    late = make_plan("headlines", "small", config, tmp_path, ["spg-0.4-late"]).trainings[0].config
    drops = [leg.objective.p_drop_at(step) for leg in late.legs for step in range(leg.steps)]
    assert drops == [0.0] * 6 + [0.4] * 6


@pytest.mark.usefixtures("staged_budget")
def test_changed_stages_and_kinds_are_named() -> None:
    before = read_budget("headlines", "", "small")
    now = configs.override(before, ["stages.2.steps=5", "stages.1.optimizer.clip_norm=1.0", "reward.kind=rouge-l"])
    named = set(changes(before, now))
    assert {
        "reward.kind was 'rouge-n', now 'rouge-l'",
        "reward.max_n was 3, now None",
        "reward.beta was None, now 1.0",
        "stages.1.optimizer.clip_norm was None, now 1.0",
        "stages.2.steps was 4, now 5",
    } <= named
    assert all(each.startswith(("reward.", "stages.")) for each in named)


@pytest.mark.usefixtures("staged_budget")
def test_a_reproduction_with_stages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["reproduce", "headlines", "--out", str(tmp_path / "out"), "--methods", "mle", "--jobs", "1"]
    assert main([*command, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["label"] == "MLE" and row["extension"]
    assert [(stage["step"], stage["label"]) for stage in row["runs"][0]["stages"]] == [(0, "MLE"), (6, "MLE")]
    assert main([*command, "--dry-run", "--json"]) == 0
    (training,) = json.loads(capsys.readouterr().out)["trainings"]
    assert (training["steps"], training["step"], training["done"]) == (10, 10, True)
