"""A source archive and a wheel, as `python -m build` makes them, and what a user can do who has the wheel alone."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

import bangbang
from tests.conftest import TINY_CONFIG, write_corpus

ROOT = Path(__file__).parents[1]
# of the repository, what the source archive is made of
FOLDERS = (".ci", "benchmarks", "configs", "docs", "examples", "src", "tests")
FILES = ("CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "MANIFEST.in", "Makefile", "README.md")
FILES += ("SECURITY.md", "constraints.txt", "pyproject.toml", ".gitignore", ".pre-commit-config.yaml")
BY_SETUPTOOLS = ("src/bangbang.egg-info/", "build/")
JUNK = shutil.ignore_patterns("__pycache__", "*.egg-info", "build", ".*_cache", ".hypothesis")  # never in a clean clone
BUILD = "import sys; from setuptools import build_meta; print(getattr(build_meta, sys.argv[1])(sys.argv[2]))"


def run(*command: str | Path, cwd: Path, text: str = "") -> str:
    """What a command writes, which must succeed; nothing of the repository is in its path."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": ""}
    done = subprocess.run(command, cwd=cwd, env=environment, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def built(kind: str, tree: Path, out: Path) -> Path:
    return out / run(sys.executable, "-c", BUILD, kind, out, cwd=tree).splitlines()[-1]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository as a clean clone has it: setuptools writes into it."""
    tree = tmp_path_factory.mktemp("clone")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, tree / name, ignore=JUNK)
    for name in FILES:
        shutil.copy(ROOT / name, tree / name)
    return tree


@pytest.fixture(scope="module")
def archives(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The source archive, and the wheel that is made of it."""
    folder = tmp_path_factory.mktemp("release")
    source = built("build_sdist", tree, folder)
    with tarfile.open(source) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    return source, built("build_wheel", unpacked, folder)


@pytest.fixture(scope="module")
def installed(archives: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a user whose environment has the wheel, and what it needs from this one: nothing is downloaded."""
    folder = tmp_path_factory.mktemp("user")
    run(sys.executable, "-m", "venv", "--without-pip", folder / "env", cwd=folder)
    python = folder / "env" / "bin" / "python"
    quiet = ("--quiet", "--no-index", "--no-deps", "--disable-pip-version-check")
    run(sys.executable, "-m", "pip", "--python", python, "install", *quiet, archives[1], cwd=folder)
    (site,) = (folder / "env").glob("lib/python*/site-packages")
    # a line of a .pth file, not a site folder: the .pth files in it, such as that of an editable bangbang, stay unread
    (site / "outer.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder


def test_both_have_all_that_the_package_reads(archives: tuple[Path, Path]) -> None:
    package = ROOT / "src" / "bangbang"
    wanted = {path.relative_to(package.parent).as_posix() for path in package.rglob("*") if path.is_file()}
    wanted = {name for name in wanted if "__pycache__" not in name}
    with zipfile.ZipFile(archives[1]) as wheel:
        assert wanted <= set(wheel.namelist())
    with tarfile.open(archives[0]) as source:
        inside = {name.partition("/")[2] for name in source.getnames()}
    assert {f"src/{name}" for name in wanted} <= inside
    assert {"pyproject.toml", "README.md", "LICENSE"} <= inside


def test_the_source_archive_is_the_repository(tree: Path, archives: tuple[Path, Path]) -> None:
    """Tests, configs and documents come along; beside them only what setuptools itself adds."""
    here = {path.relative_to(tree).as_posix() for path in tree.rglob("*") if path.is_file()}
    cloned = {name for name in here if not name.startswith(BY_SETUPTOOLS)}
    with tarfile.open(archives[0]) as source:
        inside = {member.name.partition("/")[2] for member in source.getmembers() if member.isfile()}
    assert not cloned - inside
    assert {name for name in inside - cloned if not name.startswith(BY_SETUPTOOLS)} == {"PKG-INFO", "setup.cfg"}


def test_a_wheel_of_the_source_archive_is_one_of_the_repository(
    tree: Path, archives: tuple[Path, Path], tmp_path: Path
) -> None:
    with zipfile.ZipFile(archives[1]) as one, zipfile.ZipFile(built("build_wheel", tree, tmp_path)) as other:
        assert {each.filename: each.CRC for each in one.infolist()} == {
            each.filename: each.CRC for each in other.infolist()
        }


def test_the_version_is_the_same_everywhere(archives: tuple[Path, Path]) -> None:
    version = bangbang.__version__
    assert all(f"-{version}" in archive.name for archive in archives)
    assert re.findall(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE) == [version]
    assert re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0] == version


def test_who_has_the_wheel_trains_generates_and_scores(installed: Path) -> None:
    program = installed / "env" / "bin" / "bangbang"
    python = installed / "env" / "bin" / "python"
    place = run(python, "-c", "import bangbang; print(bangbang.__file__)", cwd=installed)
    assert Path(place.strip()).is_relative_to(installed)
    write_corpus(installed / "pairs", {"train": 60, "valid": 8, "test": 8})
    config = installed / "tiny.toml"
    config.write_text(TINY_CONFIG.format(corpus="pairs", cache="cache", steps=20))
    run(program, "train", config, "--out", "run", cwd=installed)
    sources = (installed / "pairs" / "test.src").read_text()
    written = run(program, "generate", "run", cwd=installed, text=sources)
    assert written.count("\n") == 8
    (installed / "out.txt").write_text(written)
    assert "rouge-l" in run(program, "score", "--metric", "rouge", "out.txt", "pairs/test.tgt", cwd=installed).lower()
