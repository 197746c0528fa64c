"""`bangbang doctor`: what it finds, what is told of what is missing, and when it says that nothing can be trained."""

import json
import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from bangbang import diagnosis, instructions
from bangbang.cli import doctor
from bangbang.cli.main import main
from bangbang.diagnosis import OPTIONAL, REQUIRED, Need, numbers, package

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]


def least_versions(requirements: list[str]) -> dict[str, str]:
    return dict(re.fullmatch(r"([\w-]+)>=([\d.]+)", each).groups() for each in requirements)  # type: ignore[union-attr]


def test_it_asks_for_what_the_project_asks_for() -> None:
    assert {name: need.least for name, need in REQUIRED.items()} == least_versions(PROJECT["dependencies"])
    for extra in ("captions", "peers"):
        ours = {name: need.least for name, need in OPTIONAL.items() if need.extra == extra}
        assert ours == least_versions(PROJECT["optional-dependencies"][extra])


def test_here_it_finds_what_it_should(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    values = {each["name"]: each["value"] for each in found["findings"]}
    assert found["can_train"] and values["torch"] == metadata.version("torch")
    assert {
        "python",
        "numpy",
        "transformers",
        "device",
        "threads",
        "instructions",
        "products",
        "bfloat16",
        "memory",
    } <= set(values)
    assert {"debian's descriptions", "cache of corpora"} <= set(values)
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out
    assert all(name in lines for name in values) and "✗" not in lines


@pytest.mark.parametrize(
    ("version", "expected"), [("2.13.0+cpu", (2, 13, 0)), ("2.6", (2, 6)), ("5.0.0rc1", (5, 0, 0)), ("dev", ())]
)
def test_numbers_of_versions(version: str, expected: tuple[int, ...]) -> None:
    assert numbers(version) == expected


def test_missing_and_old_packages_are_told_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    need = Need("2.10", "captions", "no pictures")
    missing = package("no-such-package", need)
    assert missing.trouble == "no pictures; pip install 'bangbang[captions]'" and not missing.fatal
    monkeypatch.setattr(metadata, "version", lambda name: "2.9.1")
    assert package("pillow", need).trouble == "older than 2.10; pip install 'bangbang[captions]'"
    assert package("torch", Need("2.10")).fatal and not package("torch", Need("2.9")).trouble


def test_without_a_package_that_it_needs_nothing_can_be_trained(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def version(name: str) -> str:
        if name == "torch":
            raise metadata.PackageNotFoundError
        return "99"

    monkeypatch.setattr(metadata, "version", version)
    assert main(["doctor", "--json"]) == 2
    captured = capsys.readouterr()
    assert json.loads(captured.out)["can_train"] is False
    assert captured.err.startswith("bangbang: error: nothing can be trained here: torch (missing)")
    assert "pip install 'torch>=2.6'" in captured.err and captured.err.count("\n") == 1


def test_a_cache_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert not doctor.cache(Path("corpora")).trouble and list(tmp_path.iterdir()) == []
    (tmp_path / "corpora").touch()
    assert "--set data.cache=FOLDER" in doctor.cache(Path("corpora")).trouble


def test_debians_descriptions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bangbang.corpora.debian.APT_LISTS", tmp_path)
    assert "apt-get" in doctor.debian().trouble
    (tmp_path / "deb.example_Translation-en.lz4").touch()
    assert doctor.debian().value == "1 index files" and not doctor.debian().trouble


@pytest.mark.parametrize(("failed", "value"), [("", "works"), ("Illegal instruction", "advertised")])
def test_bfloat16_is_tried_where_it_is_advertised(monkeypatch: pytest.MonkeyPatch, failed: str, value: str) -> None:
    monkeypatch.setattr(instructions, "claims_bfloat16", lambda: True)
    monkeypatch.setattr(instructions, "failure", lambda command, settings: failed)
    found = diagnosis.bfloat16()
    assert found.value == value and bool(found.trouble) == bool(failed) and failed in found.trouble
