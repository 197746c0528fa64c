"""Two processes through a run with stages: they equal one process with twice the batch, and go on at the boundary."""

import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from bangbang import config as configs
from bangbang.training import checkpoint, train
from tests.conftest import TINY_CONFIG, write_corpus
from tests.training.test_loop import weights
from tests.training.test_processes import launched, records

BOUNDARY, END, LAST = 7, 15, 21
# up to END nothing is drawn at random: with p_drop = 0 and ties by the reference, the reward writes the reference
STAGES = """
[[stages]]
steps = 7
optimizer = {kind = "adagrad", learning_rate = 0.001}

[[stages]]
steps = 8
start = "best"
objective = {kind = "bbspg", p_drop = 0.0, ties = "reference", normalizer = "sequences"}
optimizer = {learning_rate = 0.0005, average_decay = 0.7}

[[stages]]
steps = 6
objective = {kind = "rloo", samples = 2, kl = 0.5}
"""


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """No dropout, whose masks depend on the rank."""
    folder = tmp_path_factory.mktemp("staged-processes")
    corpus = write_corpus(folder / "corpus", {"train": 300, "valid": 6, "test": 5})
    text = TINY_CONFIG.format(corpus=corpus, cache=folder / "cache", steps=LAST)
    for change in (("dropout = 0.1", "dropout = 0.0"), ("_every = 10", "_every = 1"), ("_every = 20", "_every = 3")):
        text = text.replace(*change)
    path = folder / "config.toml"
    path.write_text(text + "keep_checkpoints = 9\n" + STAGES)
    return path


def trained_by_two(config: Path, folder: Path, *options: str) -> Path:
    process = launched("-m", "bangbang", "train", str(config), "--out", str(folder), *options)
    _, error = process.communicate()
    assert process.returncode == 0, error
    assert error.count("of 3: ") <= 3, "only one process speaks"
    return folder


@pytest.fixture(scope="module")
def pair(config: Path) -> Path:
    return trained_by_two(config, config.parent / "pair")


def test_they_equal_one_process_with_twice_the_batch(config: Path, pair: Path, tmp_path: Path) -> None:
    progress = train(configs.read(config, ["training.batch_size=32", f"training.max_steps={END}"]), tmp_path).progress
    assert 0 < progress.best_step < BOUNDARY, "the second stage is to start from other weights than the last"
    one, two = records(tmp_path, "train"), records(pair, "train")[:END]
    for name in ("loss", "gradient_norm"):
        assert [line[name] for line in two] == pytest.approx([line[name] for line in one], rel=1e-5), name
    for name in ("step", "stage", "learning_rate"):
        assert [line[name] for line in two] == [line[name] for line in one], name
    for kind in ("valid", "stage"):
        ones, twos = ([{**line, "seconds": 0} for line in records(folder, kind)] for folder in (tmp_path, pair))
        assert ones == twos[: len(ones)] and len(ones) > 1
    for kind in (checkpoint.MODEL, checkpoint.RAW):
        files = [folder / "checkpoints" / checkpoint.name_of(END) / kind for folder in (tmp_path, pair)]
        for name, weight in load_file(files[0]).items():
            torch.testing.assert_close(load_file(files[1])[name], weight, rtol=1e-4, atol=1e-4)


def test_they_go_on_at_the_boundary_to_the_bit(config: Path, pair: Path, tmp_path: Path) -> None:
    trained_by_two(config, tmp_path / "run", "--set", f"training.max_steps={BOUNDARY}")
    trained_by_two(config, tmp_path / "run", "--resume")
    assert weights(tmp_path / "run", LAST) == weights(pair, LAST)
    kept = ("step", "loss", "gradient_norm", "learning_rate", "stage")
    ours, theirs = ([[line[key] for key in kept] for line in records(f, "train")] for f in (tmp_path / "run", pair))
    assert ours == theirs


def test_they_go_on_within_a_stage_that_is_held_near_its_start(config: Path, pair: Path, tmp_path: Path) -> None:
    shutil.copytree(pair, tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "checkpoints" / checkpoint.name_of(LAST))
    trained_by_two(config, tmp_path / "run", "--resume")
    assert weights(tmp_path / "run", LAST) == weights(pair, LAST)
