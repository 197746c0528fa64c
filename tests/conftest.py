"""Fixtures shared by all tests: a small corpus of our own, and a small run trained on it."""

import contextlib
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from bangbang.errors import InputError
from bangbang.instructions import secure_bfloat16

os.environ.setdefault("HF_HUB_OFFLINE", "1")
settings.register_profile(
    "repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.load_profile("repeatable")


def pytest_configure() -> None:
    """Limit oneDNN where bfloat16 needs it, before any test uses it: afterwards it would not listen."""
    with contextlib.suppress(InputError):  # the tests that need bfloat16 are skipped then
        secure_bfloat16()


@pytest.fixture(scope="session")
def bfloat16() -> None:
    """What a test needs that multiplies in bfloat16: a CPU that does it."""
    try:
        secure_bfloat16()
    except InputError as error:
        pytest.skip(str(error))


THINGS = ("clock", "editor", "parser", "player", "calendar", "calculator", "browser", "compiler", "archiver", "viewer")
QUALITIES = ("small", "fast", "simple", "modern", "portable", "colourful", "quiet", "graphical")
SYSTEMS = ("terminal", "desktop", "phone", "server", "laptop")


def sentence(number: int) -> tuple[str, str]:
    """A made-up description and its headline; the headline can be read off the description."""
    thing, quality = THINGS[number % len(THINGS)], QUALITIES[number // 3 % len(QUALITIES)]
    system = SYSTEMS[number // 7 % len(SYSTEMS)]
    source = f"This package, version {number}, is a {thing} for your {system}. It was made to be {quality} and to last."
    return source, f"{quality} {thing} for the {system}"


def write_corpus(folder: Path, sizes: dict[str, int]) -> Path:
    """Parallel text files of made-up sentences."""
    folder.mkdir(parents=True, exist_ok=True)
    start = 0
    for split, size in sizes.items():
        pairs = [sentence(number) for number in range(start, start + size)]
        (folder / f"{split}.src").write_text("".join(source + "\n" for source, _ in pairs))
        (folder / f"{split}.tgt").write_text("".join(target + "\n" for _, target in pairs))
        start += size
    return folder


TINY_CONFIG = """
[data]
corpus = "{corpus}"
cache = "{cache}"

[model]
layers = 2
units = 16
dropout = 0.1

[optimizer]
kind = "adamw"
learning_rate = 0.02

[training]
batch_size = 16
max_steps = {steps}
validate_every = 20
log_every = 10
"""


@pytest.fixture(scope="session")
def tiny_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus"), {"train": 300, "valid": 20, "test": 20})


@pytest.fixture(scope="session")
def tiny_config(tiny_corpus: Path) -> Path:
    """A config file for a model that trains in seconds."""
    path = tiny_corpus.parent / "tiny.toml"
    path.write_text(TINY_CONFIG.format(corpus=tiny_corpus, cache=tiny_corpus.parent / "cache", steps=60))
    return path


@pytest.fixture(scope="session")
def tiny_run(tiny_config: Path) -> Path:
    """The folder of a finished run of that config."""
    from bangbang.cli.main import main

    folder = tiny_config.parent / "run"
    assert main(["train", str(tiny_config), "--out", str(folder)]) == 0
    return folder


@pytest.fixture(scope="session")
def shapes_config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A config file for a caption model of drawn shapes that trains in seconds."""
    from tests.captioning import write_shapes_config

    return write_shapes_config(tmp_path_factory.mktemp("shapes"))


@pytest.fixture(scope="session")
def shapes_run(shapes_config: Path) -> Path:
    """The folder of a finished run of that config."""
    from bangbang.cli.main import main

    folder = shapes_config.parent / "run"
    assert main(["train", str(shapes_config), "--out", str(folder)]) == 0
    return folder


@pytest.fixture(scope="session")
def transduction_config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A config file for made-up words and phones that trains in seconds."""
    from tests.transduction import write_transduction_config

    return write_transduction_config(tmp_path_factory.mktemp("transduction"))


@pytest.fixture(scope="session")
def transduction_runs(transduction_config: Path) -> list[Path]:
    """The folders of two finished runs of that config, which differ in their seeds."""
    from bangbang.cli.main import main

    folders = [transduction_config.parent / f"run-{seed}" for seed in (1, 2)]
    for seed, folder in enumerate(folders, 1):
        assert main(["train", str(transduction_config), "--set", f"training.seed={seed}", "--out", str(folder)]) == 0
    return folders
