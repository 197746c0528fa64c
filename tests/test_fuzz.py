"""A few hundred of the mutations that benchmarks/fuzz.py makes by the thousand."""

import pytest

from benchmarks.fuzz import Ground, fuzz

TARGETS = ("config", "vocabulary", "pieces", "state", "weights", "raw", "optimizer", "facts", "manifest", "arrow")
TARGETS += ("lines", "jsonl", "csv", "tsv", "parquet", "metrics", "spelling")
TARGETS += ("captions", "coco", "tokens", "lists", "features", "names", "encoder", "images")
TARGETS += ("tokenizer", "copy")
MODELS = tuple(f"model {part}" for part in ("config", "generation_config", "tokenizer_config", "tokenizer", "weights"))


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return Ground(tmp_path_factory.mktemp("fuzz") / "ground")


@pytest.mark.parametrize("name", TARGETS)
def test_a_mutated_file_is_read_or_clearly_refused(ground: Ground, name: str) -> None:
    assert name in ground.targets() and len(ground.targets()) == len(TARGETS + MODELS)
    fuzz(ground, name, 40)


@pytest.mark.parametrize("name", MODELS)
def test_a_mutated_model_is_read_or_clearly_refused(ground: Ground, name: str) -> None:
    """A few: each is loaded and tried."""
    fuzz(ground, name, 5)
