"""Rows are named by what trained them, and what the paper does not have is marked."""

import pytest

from bangbang import config as configs
from bangbang.config import Config
from bangbang.reporting.rows import name_of

SPG = ("objective.kind=bbspg", "objective.p_drop=0.6")


@pytest.mark.parametrize(
    ("settings", "name", "own"),
    [
        ((), "MLE", False),
        (("reward.length=1",), "MLE", False),
        (("objective.kind=raml", "reward.length=1"), "RAML", False),
        (("objective.kind=raml", "objective.payoff=reward"), "RAML", True),
        (("objective.kind=pg",), "PG", False),
        (("objective.kind=pg", "objective.samples=2", "objective.baseline=others"), "PG", True),
        (("objective.kind=spg", "objective.reward_weight=20.0"), "SPG W=20", False),
        (SPG, "SPG 0.6", False),
        ((*SPG, "objective.p_drop_delay=9"), "SPG 0.6 late", True),
        ((*SPG, "objective.p_drop_delay=9", "reward.length=1"), "SPG 0.6 late + Length", True),
        ((*SPG, "objective.p_drop_rise=9"), "SPG 0.6 rising", True),
        ((*SPG, "objective.ends=reference"), "SPG 0.6 + Ends", True),
        ((*SPG, "reward.kind=cider-d"), "SPG 0.6", True),
        ((*SPG, "objective.temperature=0.5"), "SPG 0.6", True),
    ],
)
def test_names_and_marks(settings: tuple[str, ...], name: str, own: bool) -> None:
    config = configs.override(Config(), list(settings))
    assert (name_of(config), config.is_own) == (name, own)
