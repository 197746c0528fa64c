"""The shipped configs of transformers models, cut to a few steps: their models, stages and rewards fit together."""

from pathlib import Path

import pytest

from bangbang import config as configs
from bangbang.cli.main import main
from bangbang.hf import Policy
from bangbang.training import Run
from tests.conftest import write_corpus
from tests.translating import write_lists

CONFIGS = sorted((Path(__file__).parents[2] / "configs").glob("hf-*.toml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_a_few_steps(path: Path, tmp_path: Path) -> None:
    """The debian corpus itself is not on every machine."""
    translates = configs.read(path).task.kind == "translation"
    if translates:
        write_lists(tmp_path / "lists", 60)
        given = [f'data.path="{tmp_path}/lists"', "data.language=xx", "data.valid_share=0.2", "data.test_share=0.2"]
    else:
        given = [f'data.corpus="{write_corpus(tmp_path / "pairs", {"train": 40, "valid": 4, "test": 4})}"']
    given += ["vocabulary.size=300", "training.batch_size=4", "training.validate_every=2", f'data.cache="{tmp_path}"']
    given += [f"stages.{number}.steps=2" for number, _ in enumerate(configs.read(path).stages, 1)]
    given += [f"stages.{number}.batch_size=4" for number, _ in enumerate(configs.read(path).stages, 1)]
    if not configs.read(path).stages:
        given += ["training.max_steps=2"]
    words = [word for each in given for word in ("--set", each)]
    assert main(["train", str(path), *words, "--out", str(tmp_path / "run")]) == 0
    run = Run.open(tmp_path / "run")
    policy = run.load_model("last")
    assert isinstance(policy, Policy) and policy.form.closed
    assert run.config.metric == ("bleu" if translates else "rouge-l")
