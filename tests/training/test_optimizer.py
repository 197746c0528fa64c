"""The learning rate as a function of the step."""

import pytest

from bangbang.training.optimizer import learning_rate
from bangbang.training.settings import OptimizerSettings


def test_warm_up_then_constant() -> None:
    config = OptimizerSettings(learning_rate=0.4, warmup_steps=4)
    assert [learning_rate(step, 100, config) for step in (0, 1, 3, 4, 99)] == pytest.approx([0.1, 0.2, 0.4, 0.4, 0.4])


def test_cosine_falls_to_zero() -> None:
    config = OptimizerSettings(learning_rate=1.0, decay="cosine")
    assert [learning_rate(step, 100, config) for step in (0, 50, 100, 101)] == pytest.approx([1.0, 0.5, 0.0, 0.0])
