"""The [reward] table asks for every reward there is, with its settings."""

import pytest

from bangbang.config import RewardConfig
from bangbang.errors import InputError
from bangbang.rewards import Bleu, CiderD, DocumentFrequency, EditDistance, Gleu, RougeL, RougeN, build_reward
from bangbang.symbols import SYMBOLS

TEXTS = [*SYMBOLS, "red", "kite"]


def main_part(config: RewardConfig, separator: str = " ") -> object:
    return build_reward(
        config, TEXTS, lambda: DocumentFrequency.count([[["red", "kite"]], [["red"]]]), separator
    ).parts[0]


def test_rouge_n_alone_of_one_order() -> None:
    reward = main_part(RewardConfig(min_n=2, max_n=2, measure="recall"))
    assert isinstance(reward, RougeN) and tuple(reward.orders) == (2,) and reward.measure == "recall"
    default = main_part(RewardConfig())
    assert isinstance(default, RougeN) and tuple(default.orders) == (1, 2, 3) and default.measure == "f1"


def test_rouge_l_with_coco_captions_beta() -> None:
    reward = main_part(RewardConfig(kind="rouge-l", beta=1.2))
    assert isinstance(reward, RougeL) and reward.beta == 1.2


def test_edit_distance_of_characters() -> None:
    reward = main_part(RewardConfig(kind="edit-distance", unit="character"), separator="")
    assert isinstance(reward, EditDistance) and reward.unit == "character" and reward.separator == ""


@pytest.mark.parametrize(("kind", "expected"), [("bleu", Bleu), ("gleu", Gleu), ("cider-d", CiderD)])
def test_the_others(kind: str, expected: type) -> None:
    assert isinstance(main_part(RewardConfig(kind=kind)), expected)  # type: ignore[arg-type]


def test_impossible_settings_are_named() -> None:
    with pytest.raises(InputError, match=r"reward\.min_n must be at least 1 and at most max_n, not 4"):
        RewardConfig(min_n=4)
    with pytest.raises(InputError, match=r"reward\.beta must be above 0"):
        RewardConfig(kind="rouge-l", beta=0)
