"""A guest's package in an environment of its own: found, listed, tested and trained with; and the loop by hand."""

import json
import os
import runpy
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PLUGIN = ROOT / "examples" / "plugin"
LINES = {"reward.py": 40, "objective.py": 40, "model.py": 80}


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": ""}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the plugin, and an environment that has it installed: no network is needed."""
    folder = tmp_path_factory.mktemp("guest")
    shutil.copytree(PLUGIN, folder / "plugin")
    made = run(sys.executable, "-m", "venv", "--without-pip", folder / "env", cwd=folder)
    assert made.returncode == 0, made.stderr
    # what this environment has, bangbang included, is seen from the new one
    (site,) = (folder / "env").glob("lib/python*/site-packages")
    outer = sysconfig.get_path("purelib")
    (site / "outer.pth").write_text(f"import site; site.addsitedir({outer!r})\n{ROOT / 'src'}\n")
    python = folder / "env" / "bin" / "python"
    offline = ("--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check")
    installed = run(sys.executable, "-m", "pip", "--python", python, "install", *offline, folder / "plugin", cwd=folder)
    assert installed.returncode == 0, installed.stderr
    return folder


def bangbang(guest: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run(guest / "env" / "bin" / "python", "-m", "bangbang", *arguments, cwd=guest)


def test_its_kinds_are_listed_with_their_package_and_settings(guest: Path) -> None:
    found = json.loads(bangbang(guest, "plugins", "--json").stdout)
    names = {"corpora": "arithmetic", "rewards": "coverage", "objectives": "mixed", "models": "bag_of_words"}
    for group, name in names.items():
        assert found[group][name]["package"] == "bangbang-arithmetic"
    share = found["objectives"]["mixed"]["settings"]["share"]
    assert share == {"default": 0.5, "about": "λ, the share of the policy gradient."}
    assert found["objectives"]["mle"]["package"] == "bangbang"


def test_its_own_tests_pass(guest: Path) -> None:
    tests = guest / "plugin" / "tests"
    done = run(guest / "env" / "bin" / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", tests, cwd=guest)
    assert done.returncode == 0, done.stdout
    assert "4 passed" in done.stdout


@pytest.mark.slow
def test_it_trains_evaluates_and_goes_on(guest: Path) -> None:
    train = ["train", "plugin/arithmetic.toml", "--out", "run"]
    done = bangbang(guest, *train, "--set", "training.max_steps=120", "--set", "training.validate_every=60")
    assert done.returncode == 0, done.stderr
    losses = [line["loss"] for line in map(json.loads, (guest / "run/metrics.jsonl").open()) if line["kind"] == "train"]
    assert losses[-1] < 0.7 * losses[0]
    done = bangbang(guest, "evaluate", "run", "--split", "valid", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["scores"]["greedy +DUP"]["rouge-1"]["value"] > 20
    again = bangbang(guest, "train", "--resume", "--out", "run", "--set", "training.max_steps=130", "--json")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["step"] == 130


def test_without_the_package_its_config_is_refused_in_one_line(tmp_path: Path) -> None:
    done = run(
        sys.executable, "-m", "bangbang", "train", PLUGIN / "arithmetic.toml", "--out", tmp_path / "run", cwd=ROOT
    )
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert "bag_of_words" in done.stderr or "largest" in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("name", "most"), LINES.items())
def test_what_a_guest_writes_is_short(name: str, most: int) -> None:
    assert len((PLUGIN / "bangbang_arithmetic" / name).read_text().splitlines()) <= most


def test_the_loop_by_hand_trains(
    tiny_config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = ["--set", "training.max_steps=40", "--set", "objective.kind=bbspg"]
    monkeypatch.setattr(sys, "argv", ["loop", str(tiny_config), *settings])
    runpy.run_path(str(ROOT / "examples" / "loop.py"), run_name="__main__")
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("step")]
    losses = [float(line.partition("loss ")[2].split()[0]) for line in lines]
    assert len(losses) == 4
    assert losses[-1] < 0.8 * losses[0]
