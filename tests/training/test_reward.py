"""The reward of a run: document frequencies of references as training sees them, counted when they are needed."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from bangbang import config as configs
from bangbang.corpora.settings import Files
from bangbang.data import Split
from bangbang.data.settings import BytePairs, Words
from bangbang.rewards import DocumentFrequency
from bangbang.rewards.settings import CiderDSettings
from bangbang.symbols import EOS
from bangbang.training import Run, train
from bangbang.training import learner as module
from bangbang.training.learner import run_reward, training_references

REFERENCES = [["red kite in the sky", "kite"], ["the red sky"], ["a kite"]]


class References:
    """As much of a split as is asked for."""

    def __len__(self) -> int:
        return len(REFERENCES)

    def references(self, rows: slice) -> list[list[str]]:
        return REFERENCES[rows]


SPLIT: Split = References()  # type: ignore[assignment]


def run_of(tmp_path: Path, max_target_length: int, kind: str = "word") -> Run:
    texts = [text for several in REFERENCES for text in several]
    vocabulary = Words(size=300) if kind == "word" else BytePairs(size=300)
    config = replace(configs.Config(), data=Files(max_target_length=max_target_length), reward=CiderDSettings())
    return Run(tmp_path, replace(config, vocabulary=vocabulary), vocabulary.build(texts))


def test_references_are_cut_before_they_are_counted(tmp_path: Path) -> None:
    table = DocumentFrequency.count(training_references(run_of(tmp_path, 3), SPLIT))
    assert table.documents == 3
    assert table.counts == {
        ("red",): 2, ("kite",): 2, ("the",): 1, ("a",): 1, ("</s>",): 3,
        ("red", "kite"): 1, ("kite", "</s>"): 2, ("the", "red"): 1, ("red", "</s>"): 1, ("a", "kite"): 1,
        ("red", "kite", "</s>"): 1, ("the", "red", "</s>"): 1, ("a", "kite", "</s>"): 1,
    }  # fmt: skip
    whole = DocumentFrequency.count(training_references(run_of(tmp_path, 30), SPLIT))
    assert whole.counts["in", "the"] == 1


@pytest.mark.parametrize("kind", ["word", "bpe"])
def test_nothing_is_counted_before_the_reward_begins(tmp_path: Path, kind: str) -> None:
    asked = []

    def split() -> Split:
        asked.append(True)
        return SPLIT

    run = run_of(tmp_path, 30, kind)
    reward = run_reward(run, run.config.reward, split)
    assert not asked
    y = torch.tensor([[*run.vocabulary.encode("red kite"), EOS]])
    for _ in range(2):
        state = reward.start(y)
        for token in y[0]:
            state.advance(token[None])
        assert state.main_value().item() > 1
    assert asked == [True], "once"


def test_maximum_likelihood_counts_no_n_grams(
    tiny_config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("counted")

    monkeypatch.setattr(module, "training_references", fail)
    settings = ["training.max_steps=2", "training.validate_every=2", "reward.kind=cider-d"]
    train(configs.override(configs.read(tiny_config), settings), tmp_path / "run")
    with pytest.raises(AssertionError, match="counted"):
        train(configs.override(configs.read(tiny_config), [*settings, "objective.kind=bbspg"]), tmp_path / "other")
