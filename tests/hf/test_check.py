"""`bangbang hf check`: what it tells of a model, and that corrupt and hostile folders get one line."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from bangbang.cli.main import main
from bangbang.hf import Inputs
from bangbang.hf.check import examine
from bangbang.hf.loading import quiet
from bangbang.hf.samples import waves
from benchmarks.model_ground import ModelGround
from tests.hf.families import new_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model as transformers saves it."""
    path = tmp_path_factory.mktemp("models") / "bart"
    with quiet():
        new_model("bart").save_pretrained(path)
    return path


def test_a_model_that_fits(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hf", "check", str(folder), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["fits"]
    assert report["family"] == "bart"
    assert report["head"] == "closed, + final_logits_bias"
    assert report["tokens"] == 40
    assert report["ends"] == [2]
    assert 0 <= report["steps_error"] < 1e-5
    assert 0 <= report["batch_error"] < 1e-5
    assert main(["hf", "check", str(folder)]) == 0
    assert "final_logits_bias" in capsys.readouterr().out


def test_a_model_that_does_not_fit_says_why() -> None:
    """GIT without an image reads the padding in front of a text once it has a cache."""
    model: Any = new_model("git")
    report = examine("git", model)
    assert not report.fits
    assert "its steps differ from its pass" in report.troubles[0]
    pictures = Inputs({"input_ids": torch.ones(2, 1, dtype=torch.long), "pixel_values": waves((2, 3, 8, 8))})
    assert examine("git", model, example=pictures).fits


def test_a_model_without_an_end_does_not_fit() -> None:
    model: Any = new_model("gpt2")
    model.generation_config.eos_token_id = None
    assert "has no end token" in examine("gpt2", model).troubles[0]


def change_config(path: Path, **values: Any) -> None:
    table = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps({**table, **values}))


def change_weights(path: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    weights = load_file(path / "model.safetensors")
    change(weights)
    save_file(weights, path / "model.safetensors", metadata={"format": "pt"})


def only_pickles(path: Path) -> None:
    (path / "model.safetensors").unlink()
    (path / "pytorch_model.bin").write_bytes(b"\x80\x04cos\nsystem\n")


def pipe(path: Path) -> None:
    (path / "model.safetensors").unlink()
    os.mkfifo(path / "model.safetensors")


def endless_tokenizer(path: Path) -> None:
    """A regular expression that backtracks for ever."""
    split = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Removed", "invert": False}
    table = {"version": "1.0", "added_tokens": [], "pre_tokenizer": split, "model": {"type": "BPE"}}
    (path / "tokenizer.json").write_text(json.dumps(table))


def remote_code(path: Path) -> None:
    (path / "modeling.py").write_text("raise SystemExit('their code has run')")
    change_config(path, model_type="theirs", auto_map={"AutoConfig": "modeling.Config", "AutoModel": "modeling.Model"})


WEIGHT = "model.decoder.layers.0.fc1.weight"
HOSTILE: dict[str, tuple[Callable[[Path], object], str]] = {
    "pickles": (only_pickles, "pickled ones are not read"),
    "remote code": (remote_code, "cannot be loaded"),
    "a pipe": (pipe, "pipe or a device"),
    "no config": (lambda path: (path / "config.json").unlink(), "no config.json"),
    "a config that is no JSON": (lambda path: (path / "config.json").write_text("{"), "damaged"),
    "a config of another thing": (lambda path: (path / "config.json").write_text("[1]"), "damaged"),
    "endless layers": (lambda path: change_config(path, decoder_layers=10**9), "more than any model has"),
    "a vocabulary beyond memory": (lambda path: change_config(path, vocab_size=2**31, d_model=2**16), "GiB of memory"),
    "another shape": (lambda path: change_config(path, d_model=8), "cannot be loaded"),
    "another type": (lambda path: change_config(path, d_model="large"), "cannot be loaded"),
    "no generator": (lambda path: change_config(path, model_type="vit"), "no model that generates texts"),
    "a file that is cut": (
        lambda path: (path / "model.safetensors").write_bytes((path / "model.safetensors").read_bytes()[:-100]),
        "cannot be loaded",
    ),
    "a missing weight": (
        lambda path: change_weights(path, lambda weights: weights.pop(WEIGHT)),
        "not in its files",
    ),
    "a weight that is no number": (
        lambda path: change_weights(
            path, lambda weights: weights["model.decoder.layers.0.fc1.weight"].fill_(torch.nan)
        ),
        "not finite",
    ),
    "an endless tokenizer": (endless_tokenizer, "not known to be safe"),
    "an end that is text": (
        lambda path: (path / "generation_config.json").write_text('{"eos_token_id": "x"}'),
        "is no id of a token",
    ),
    "a start that is a list": (
        lambda path: (path / "generation_config.json").write_text('{"bos_token_id": [null]}'),
        "is no id of a token",
    ),
    "a tokenizer that is none": (lambda path: (path / "tokenizer.json").write_text("{}"), "not a tokenizer"),
}


@pytest.mark.parametrize(
    ("names", "expected"),
    [({"unk_token": ""}, "cannot be loaded"), ({"bos_token": "", "unk_token": None}, "none of its tokens")],
)
def test_special_tokens_without_a_name_get_one_line(
    names: dict[str, str | None], expected: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    ModelGround(tmp_path)
    path = tmp_path / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **names}))
    assert main(["hf", "check", str(tmp_path)]) == 2
    error = capfd.readouterr().err
    assert expected in error
    assert len(error.splitlines()) == 1


def test_a_list_of_classes_that_is_none_is_left_alone(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "model"
    shutil.copytree(folder, path)
    change_config(path, architectures=True)
    assert main(["hf", "check", str(path)]) == 0


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_folders_get_one_line(
    what: str, folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    change, expected = HOSTILE[what]
    path = tmp_path / "model"
    shutil.copytree(folder, path)
    change(path)
    assert main(["hf", "check", str(path)]) == 2
    output = capfd.readouterr()
    assert output.out == ""
    assert len(output.err.splitlines()) == 1
    assert expected in output.err
    assert str(path) in output.err


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("generation_config.json", {"eos_token_id": 2}, "decoder_start_token_id"),
        ("config.json", {"dropout": 7}, "dropout probability"),
    ],
)
def test_what_shows_when_a_model_is_tried_does_not_fit(
    name: str, values: dict[str, Any], expected: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model"
    shutil.copytree(folder, path)
    if name == "config.json":
        change_config(path, **values)
    else:
        (path / name).write_text(json.dumps(values))
    assert main(["hf", "check", str(path), "--json"]) == 1
    assert expected in json.loads(capsys.readouterr().out)["troubles"][0]


def test_what_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in (str(tmp_path / "none"), "no-one/has-this"):
        assert main(["hf", "check", name]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_missing_package_names_the_way_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("bangbang.hf.requirements.version", lambda package: "5.3.0")
    assert main(["hf", "check", str(folder)]) == 2
    assert "transformers 5.19 or later, not 5.3.0: pip install 'bangbang[hf]'" in capsys.readouterr().err
