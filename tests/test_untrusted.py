"""Run folders, checkpoints, configs and vocabularies from elsewhere: an error at most, and nothing written outside."""

import json
import shutil
from pathlib import Path

import pytest

from bangbang.cli.main import main
from bangbang.errors import InputError
from bangbang.training import Run, checkpoint, retention
from tests.conftest import TINY_CONFIG


@pytest.fixture
def run(tiny_run: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    shutil.copytree(tiny_run, folder)
    return folder


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    (folder / "step-00000020").mkdir(parents=True)
    (folder / "precious").write_text("precious")
    return folder


def content(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() if path.is_file() else "" for path in folder.rglob("*")}


@pytest.mark.parametrize("name", ["checkpoints", "samples", "tensorboard", "metrics.jsonl"])
def test_links_out_of_a_run_are_refused(
    run: Path, outside: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = run / name
    if path.is_dir():
        shutil.copytree(path, outside / "copy")
        shutil.rmtree(path)
        path.symlink_to(outside / "copy")
    else:
        path.unlink()
        path.symlink_to(outside / "precious")
    before = content_bytes(outside)
    assert main(["train", "--resume", "--out", str(run), "--set", "training.max_steps=80"]) == 2
    assert "is a symbolic link" in capsys.readouterr().err
    assert content_bytes(outside) == before


def content_bytes(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_linked_checkpoint_is_none_and_its_target_stays(run: Path, outside: Path) -> None:
    (run / "checkpoints" / "step-00000070").symlink_to(outside / "step-00000020")
    assert retention.listed(run / "checkpoints")[-1].name == "step-00000060"
    settings = ["--set", "training.max_steps=70", "--set", "training.keep_checkpoints=1"]
    assert main(["train", "--resume", "--out", str(run), *settings]) == 0
    assert (outside / "step-00000020").is_dir() and content(outside)["precious"] == "precious"
    assert not (run / "checkpoints" / "step-00000070").is_symlink()


@pytest.mark.parametrize("cache", ["../outside", "/", "corpora/../../outside"])
def test_a_config_does_not_choose_where_corpora_are_written(
    tiny_corpus: Path,
    tmp_path: Path,
    outside: Path,
    cache: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work, shared = tmp_path / "work", tmp_path / "configs" / "of" / "others"
    for folder in (work, shared):
        folder.mkdir(parents=True)
    monkeypatch.chdir(work)
    (shared / "config.toml").write_text(TINY_CONFIG.format(corpus=tiny_corpus, cache=cache, steps=1))
    before = content(outside)
    assert main(["train", str(shared / "config.toml"), "--out", "run"]) == 2
    assert main(["data", str(shared / "config.toml")]) == 2
    assert capsys.readouterr().err.count("--set data.cache=") == 2
    assert content(outside) == before
    allowed = ["--set", f"data.cache={tmp_path / 'allowed'}"]
    assert main(["train", str(shared / "config.toml"), "--out", "run", *allowed]) == 0
    assert len(list((tmp_path / "allowed").iterdir())) == 1


def header(path: Path, declared: int, table: object) -> None:
    path.write_bytes(declared.to_bytes(8, "little") + json.dumps(table).encode())


def test_huge_declarations_are_refused_before_anything_is_read(run: Path) -> None:
    last = retention.listed(run / "checkpoints")[-1]
    model = Run.open(run).outline()
    header(last / checkpoint.MODEL, 2**40, {})
    with pytest.raises(InputError, match="declares a header of 1099511627776 bytes"):
        checkpoint.check_model(last, model)
    shape = {"dtype": "F32", "shape": [50_000, 50_000], "data_offsets": [0, 10_000_000_000]}
    text = json.dumps({"head.weight": shape})
    header(last / checkpoint.MODEL, len(text), {"head.weight": shape})
    with pytest.raises(InputError, match=r"has no|has shape \[50000, 50000\]"):
        checkpoint.check_model(last, model)
    with pytest.raises(InputError, match="damaged"):
        checkpoint.read_tensors(last / checkpoint.MODEL)


def test_a_huge_model_is_refused_before_there_is_memory_for_it(run: Path) -> None:
    path = run / "config.toml"
    path.write_text(path.read_text().replace("units = 16", "units = 100000"))
    with pytest.raises(InputError, match=r"has shape .* this model \[.*100000"):
        Run.open(run).load_model()
    with pytest.raises(InputError, match=r"its weights take \d+ GB"):
        Run.open(run).build_model()


def test_a_vocabulary_with_a_pattern_of_its_own_is_refused(run: Path) -> None:
    path = run / "vocabulary.json"
    table = json.loads(path.read_text())
    table["pre_tokenizer"]["pattern"]["Regex"] = "(a+)+$"
    path.write_text(json.dumps(table))
    with pytest.raises(InputError, match="other rules"):
        Run.open(run)
