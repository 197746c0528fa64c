"""The settings of each reward build it: the main one first, its shaping behind it."""

import pytest

from bangbang import registry
from bangbang.contracts import RewardInputs
from bangbang.errors import InputError
from bangbang.rewards import Bleu, CiderD, Dup, EditDistance, Eos, ExactMatch, Gleu, Length, RougeL, RougeN
from bangbang.rewards.settings import EditDistanceSettings, RewardSettings, RougeLSettings, RougeNSettings
from bangbang.symbols import SYMBOLS

TEXTS = [*SYMBOLS, "red", "kite"]


def inputs(separator: str = " ") -> RewardInputs:
    return RewardInputs(TEXTS, separator, lambda: [[["red", "kite"]], [["red"]]])


def test_orders_and_measure_of_rouge_n() -> None:
    reward = RougeNSettings(min_n=2, max_n=2, measure="recall").main(inputs())
    assert isinstance(reward, RougeN) and tuple(reward.orders) == (2,) and reward.measure == "recall"
    default = RougeNSettings().main(inputs())
    assert isinstance(default, RougeN) and tuple(default.orders) == (1, 2, 3) and default.measure == "f1"


def test_beta_of_rouge_l() -> None:
    reward = RougeLSettings(beta=1.2).main(inputs())
    assert isinstance(reward, RougeL) and reward.beta == 1.2


def test_characters_of_pieces_have_no_blanks_between_them() -> None:
    reward = EditDistanceSettings(unit="character").main(inputs(separator=""))
    assert isinstance(reward, EditDistance) and reward.separator == ""


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("rouge-n", RougeN),
        ("rouge-l", RougeL),
        ("bleu", Bleu),
        ("gleu", Gleu),
        ("cider-d", CiderD),
        ("exact-match", ExactMatch),
    ],
)
def test_every_kind_is_what_it_says(kind: str, expected: type) -> None:
    settings = registry.find("rewards", kind, "here")()
    assert isinstance(settings, RewardSettings) and isinstance(settings.main(inputs()), expected)


def test_shaping_of_weight_0_is_left_out() -> None:
    every = RougeNSettings(length=2.0).build(inputs())
    assert [type(part) for part in every.parts] == [RougeN, Dup, Eos, Length] and every.weights == (1, 1, 1, 2)
    assert [type(part) for part in RougeNSettings(dup=0.0, eos=0.0).build(inputs()).parts] == [RougeN]


def test_bad_settings() -> None:
    with pytest.raises(InputError, match=r"reward\.min_n must be at least 1 and at most max_n"):
        RougeNSettings(min_n=4)
    with pytest.raises(InputError, match=r"reward\.beta must be above 0"):
        RougeLSettings(beta=0.0)
