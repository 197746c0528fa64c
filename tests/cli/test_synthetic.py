"""Results on drawn scenes say that these are synthetic, wherever they are shown; others say nothing of the kind."""

import json
import re
from pathlib import Path

import pytest

from bangbang.cli.main import main
from bangbang.data import Corpus, prepare
from bangbang.data.corpus import MANIFEST, SYNTHETIC, caveat
from bangbang.training import Run
from tests.browser import Browser, needs_chromium


@pytest.fixture(scope="module")
def named_by_path(shapes_config: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A config that names the folder of scenes, as it would one of photographs."""
    folder = tmp_path_factory.mktemp("synthetic")
    scenes, cache = json.dumps(str(shapes_config.parent / "scenes")), json.dumps(str(folder / "cache"))
    others = shapes_config.read_text().partition("[vocabulary]")[2]
    path = folder / "path.toml"
    path.write_text(f"[data]\ncorpus = {scenes}\ncache = {cache}\n[vocabulary]{others}")
    return path


@pytest.fixture(scope="module")
def short_run(named_by_path: Path) -> Path:
    folder = named_by_path.parent / "run"
    assert main(["train", str(named_by_path), "--out", str(folder), "--set", "training.max_steps=2"]) == 0
    return folder


@pytest.fixture(scope="module")
def reported(short_run: Path) -> Path:
    assert main(["report", str(short_run), "--out", str(short_run.parent / "report")]) == 0
    return short_run.parent / "report"


def said(text: str) -> int:
    return " ".join(text.split()).count(SYNTHETIC)


def test_a_corpus_says_so(named_by_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", str(named_by_path)]) == 0
    assert said(capsys.readouterr().out) == 1


def test_training_says_so(short_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "--resume", "--out", str(short_run)]) == 0
    assert said(capsys.readouterr().err) == 1


def test_tables_say_so(short_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(short_run), "--limit", "5"]) == 0
    assert said(capsys.readouterr().out) == 1
    assert main(["report", str(short_run), "--out", str(tmp_path)]) == 0
    assert said(capsys.readouterr().out) == 1
    assert main(["compare", str(short_run), str(short_run), "--limit", "5", "--json"]) == 0
    assert said(capsys.readouterr().err) == 1


def test_files_say_so(short_run: Path, reported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(short_run), "--limit", "5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["caveat"] == SYNTHETIC
    assert json.loads((reported / "results.json").read_text())["caveat"] == SYNTHETIC


@needs_chromium
def test_the_page_says_so(reported: Path, tmp_path: Path) -> None:
    with Browser(tmp_path) as browser:
        browser.open(reported / "report.html", 1440)
        assert browser.complaints == []
        assert str(browser.run("document.getElementById('eyebrow').textContent")).endswith(f" · {SYNTHETIC}")


def test_texts_say_nothing(tiny_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(tiny_run), "--limit", "5"]) == 0
    assert main(["report", str(tiny_run), "--out", str(tmp_path)]) == 0
    assert not re.search("synthetic|caveat", capsys.readouterr().out)
    assert json.loads((tmp_path / "results.json").read_text())["caveat"] == ""


def test_corpora_from_before_still_open(named_by_path: Path, short_run: Path) -> None:
    """Their manifests do not have the entry: a drawn corpus is known by its name, or when it is prepared again."""
    run = Run.open(short_run)
    path = run.corpus().folder / MANIFEST
    kept = path.read_text()
    manifest = json.loads(kept)
    assert manifest.pop("synthetic") is True
    try:
        path.write_text(json.dumps(manifest))
        assert caveat(Corpus.open(path.parent).manifest) == ""
        assert caveat(prepare(run.config.data, run.config.vocabulary).manifest) == SYNTHETIC
        path.write_text(json.dumps({**manifest, "corpus": "shapes"}))
        assert caveat(Corpus.open(path.parent).manifest) == SYNTHETIC
    finally:
        path.write_text(kept)
