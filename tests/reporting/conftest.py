"""Small runs of several methods and seeds on one corpus, and the report on them."""

from pathlib import Path

import pytest

from bangbang import config as configs
from bangbang.reporting import LabelledRun, Results, report
from bangbang.training import train
from tests.conftest import write_corpus

CONFIG = """
[data]
corpus = "{corpus}"
cache = "{cache}"

[model]
layers = 1
units = 16
dropout = 0.0

[optimizer]
kind = "adamw"
learning_rate = 0.02

[training]
batch_size = 24
max_steps = 12
validate_every = 4
log_every = 4
metric = "rouge-l"
"""
SETTINGS = {
    "MLE": ["training.max_steps=36"],
    "RAML": ["objective.kind=raml"],
    "SPG 0.2": ["objective.kind=bbspg", "objective.p_drop=0.2"],
    "SPG 0.6": ["objective.kind=bbspg", "objective.p_drop=0.6"],
    "SPG 0.2 + Length": ["objective.kind=bbspg", "objective.p_drop=0.2", "reward.length=1"],
}
TWICE = ("SPG 0.2",)  # rows of two seeds
TEST_EXAMPLES = 30


@pytest.fixture(scope="session")
def small_config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reporting")
    corpus = write_corpus(folder / "corpus", {"train": 240, "valid": 10, "test": TEST_EXAMPLES})
    path = folder / "small.toml"
    path.write_text(CONFIG.format(corpus=corpus, cache=folder / "cache"))
    return path


@pytest.fixture(scope="session")
def labelled_runs(small_config: Path) -> list[LabelledRun]:
    runs = []
    for number, (label, settings) in enumerate(SETTINGS.items()):
        for seed in (1, 2) if label in TWICE else (1,):
            folder = small_config.parent / f"run-{number}-{seed}"
            train(configs.read(small_config, [*settings, f"training.seed={seed}"]), folder)
            runs.append(LabelledRun(folder, label))
    return runs


@pytest.fixture(scope="session")
def reported(labelled_runs: list[LabelledRun]) -> tuple[Results, Path]:
    """The results, and the folder that has them and the page."""
    out = labelled_runs[0].folder.parent / "report"
    commands = ["bangbang train small.toml --out <run>", "bangbang report run-*"]
    return report(labelled_runs, out, title="Small <runs>", commands=commands, decoders=("greedy", "beam")), out
