"""Runs with stages in a report: rows named by their stages, and marks where these begin."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bangbang import config as configs
from bangbang.reporting import Results, report
from bangbang.reporting.curves import curves, stage_starts
from bangbang.reporting.page import OWN_SCRIPTS
from bangbang.reporting.results import StageStart
from bangbang.reporting.rows import label_runs
from bangbang.training import train
from tests.browser import Browser, needs_chromium

STAGES = """
[[stages]]
steps = 5
objective = {kind = "bbspg", p_drop = 0.4}

[[stages]]
steps = 4
start = "best"
objective = {kind = "pg", samples = 2}
optimizer = {learning_rate = 0.001}
"""
LABEL = "SPG 0.4 → PG"
Reported = tuple[Results, Path]
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="needs node")


@pytest.fixture(scope="module")
def staged(small_config: Path) -> Reported:
    """A report on a run by maximum likelihood and two with stages, which differ in the seed."""
    path = small_config.parent / "stages.toml"
    path.write_text(small_config.read_text() + STAGES)
    folders = [small_config.parent / f"staged-{name}" for name in ("mle", "one", "two")]
    train(configs.read(small_config, ["training.max_steps=8"]), folders[0])
    for seed, folder in enumerate(folders[1:], 1):
        train(configs.read(path, [f"training.seed={seed}"]), folder)
    out = small_config.parent / "staged-report"
    return report(label_runs(folders), out, title="Stages", commands=[]), out


def test_a_row_is_named_by_its_stages_and_knows_where_they_began(staged: Reported) -> None:
    plain, row = staged[0].rows
    assert (plain.label, row.label) == ("MLE", LABEL) and row.seeds == [1, 2]
    assert row.extension and (row.objective, row.p_drop) == ("pg", None)
    assert plain.runs[0].stages == []
    for run in row.runs:
        assert [(stage.step, stage.label) for stage in run.stages] == [(0, "SPG 0.4"), (5, "PG")]
        assert 0 == run.stages[0].seconds < run.stages[1].seconds < run.seconds
    record = json.loads((staged[1] / "results.json").read_text())
    assert record["rows"][1]["runs"][0]["stages"][1]["label"] == "PG"


def test_other_stages_are_told_apart(staged: Reported, small_config: Path, tmp_path: Path) -> None:
    settings = ["stages.2.optimizer.learning_rate=0.002", "stages.1.steps=1", "stages.2.steps=1"]
    train(configs.read(small_config.parent / "stages.toml", settings), tmp_path / "other")
    first = Path(staged[0].rows[1].runs[0].folder)
    changed = "stages.1.steps=1, stages.2.steps=1, stages.2.optimizer.learning_rate=0.002"
    assert [run.label for run in label_runs([first, tmp_path / "other"])] == [LABEL, f"{LABEL}, {changed}"]


def test_the_picture_has_a_line_where_a_stage_begins(staged: Reported) -> None:
    results = staged[0]
    assert stage_starts(results.rows) == {5: "PG"}
    assert len(re.findall(r">\s*PG\s*</text>", curves(results))) == 3  # once a panel of validation scores
    assert not re.findall(r">\s*PG\s*</text>", curves(replace(results, rows=results.rows[:1])))


def test_names_are_no_formulas(staged: Reported) -> None:
    row = staged[0].rows[1]
    stages = [StageStart(0, 0.0, "$a$"), StageStart(5, 1.0, "$b_c$"), StageStart(5, 1.0, r"$\no$")]
    row = replace(row, label="$d$", runs=[replace(row.runs[0], stages=stages)])
    drawing = curves(replace(staged[0], rows=[row]))
    assert "$b_c$, $\\no$" in drawing and "$d$" in drawing and "$a$" not in drawing


@needs_node
@pytest.mark.parametrize("script", OWN_SCRIPTS, ids=lambda script: script.name)
def test_scripts_are_sound(script: Path) -> None:
    checked = subprocess.run(["node", "--check", str(script)], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def stage(step: int, minutes: float, label: str) -> dict[str, Any]:
    return {"step": step, "seconds": 60 * minutes, "label": label}


@needs_node
def test_the_page_finds_the_same_marks() -> None:
    """By steps those of all rows; by time the mean of the runs that came so far."""
    first, second, third = stage(0, 0, "MLE"), stage(5, 2, "PG"), stage(9, 6, "SPG")
    warm = {"steps": 10, "seconds": 60}
    one = {"runs": [{"stages": [first, second, third]}, {"stages": [first, stage(5, 4, "PG")]}]}
    three = {"runs": [{"stages": [first, stage(5, 1, "GOLD")], "before": warm}]}
    two = {"runs": [{"stages": [first, stage(5, 3, "RAML")]}]}
    scripts = {script.name: script.read_text("utf-8") for script in OWN_SCRIPTS}
    mean = next(line for line in scripts["looks.js"].splitlines() if line.startswith("const meanOf"))
    rows, found = json.dumps([one, two, three, {"runs": [{"stages": []}]}]), {}
    for axis in ("step", "minutes"):
        call = f"{mean}\n{scripts['curves.js']}\nstageStarts({rows}, '{axis}')"
        shown = subprocess.run(["node", "-p", f"{call}.join('; ')"], capture_output=True, text=True, check=True)
        found[axis] = shown.stdout.strip()
    assert found == {"step": "5,PG, RAML; 9,SPG; 15,GOLD", "minutes": "3,PG, RAML; 6,SPG; 2,GOLD"}


@needs_chromium
def test_the_page_draws_them(staged: Reported, tmp_path: Path) -> None:
    with Browser(tmp_path) as browser:
        browser.open(staged[1] / "report.html", 1440)
        assert browser.complaints == []
        assert browser.run("[...document.querySelectorAll('#curves text.rule')].map((each) => each.textContent)") == [
            "PG"
        ]
        assert browser.run("document.querySelectorAll('#curves line.rule').length") == 1
