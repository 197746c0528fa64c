"""`bangbang bench` runs the checkout's benchmarks, nobody else's, and says where they are if it has none."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import setuptools

from bangbang.cli import bench

ROOT = Path(__file__).parents[2]
STRANGER = "raise SystemExit('a stranger was imported')"


def strange_benchmarks(folder: Path) -> None:
    """A package of the same name, with modules of the same names."""
    (folder / "benchmarks").mkdir(parents=True)
    for name in ("__init__", *(module.split(".")[1] for module in bench.BENCHES.values())):
        (folder / "benchmarks" / f"{name}.py").write_text(STRANGER)


def bangbang(source: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command as `folder` has it, by the package in `source`."""
    command = [sys.executable, "-m", "bangbang", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    return subprocess.run(command, cwd=folder, env=environment, check=False, capture_output=True, text=True)


def test_the_package_has_no_benchmarks() -> None:
    packages = setuptools.find_packages(where=str(ROOT / "src"))
    assert "bangbang.cli" in packages
    assert not [name for name in packages if "bench" in name]


PROJECTS = {
    "site-packages": None,
    "src": None,
    "own/src": '[project]\nname = "theirs"\n',
    "odd/src": "project = 3",
    "bad/src": "[",
    "vendored/third": '[project]\nname = "bangbang"\n',
}


@pytest.mark.parametrize("place", PROJECTS)
def test_without_a_checkout_it_says_where_they_are(place: str, tmp_path: Path) -> None:
    source, project = tmp_path / place, PROJECTS[place]
    shutil.copytree(ROOT / "src" / "bangbang", source / "bangbang", ignore=shutil.ignore_patterns("__pycache__"))
    strange_benchmarks(source.parent)
    if project is not None:
        (source.parent / "pyproject.toml").write_text(project)
    for arguments in ([], ["step"], ["step", "--vocab", "9", "--json"], ["no-such-bench"]):
        done = bangbang(source, source.parent, "bench", *arguments)
        assert (done.returncode, done.stdout, done.stderr) == (2, "", f"bangbang: error: {bench.ABSENT}\n")
    done = bangbang(source, source.parent, "bench", "--help")
    assert (done.returncode, done.stderr) == (0, "") and "the repository's benchmarks/ folder" in done.stdout


def test_a_checkout_without_the_folder_has_none(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src" / "bangbang", tmp_path / "src" / "bangbang")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    done = bangbang(tmp_path / "src", tmp_path, "bench", "step")
    assert (done.returncode, done.stderr) == (2, f"bangbang: error: {bench.ABSENT}\n")


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux tells a process's peak of memory")
def test_a_checkout_runs_its_own_from_any_folder(tmp_path: Path) -> None:
    strange_benchmarks(tmp_path)
    sizes = ["--vocab", "60", "--dim", "8", "--batch", "2", "--max-length", "4", "--methods", "mle"]
    done = bangbang(ROOT / "src", tmp_path, "bench", "memory", *sizes, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["shape"]["vocab"] == 60


def test_a_package_of_that_name_that_is_loaded_already_gives_way() -> None:
    code = (
        "import sys, types; sys.modules['benchmarks'] = types.ModuleType('benchmarks')\n"
        "from bangbang.cli.main import main; main(['bench', 'step', '--help'])"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.startswith("usage: bangbang bench step ")
