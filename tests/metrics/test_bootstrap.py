"""Resampling: exact sums, known standard errors, bounded memory, equal seeds."""

import numpy as np
import pytest

from bangbang.errors import InputError
from bangbang.metrics import Resampling, Rouge, estimates, significance
from bangbang.metrics.significance import resampled_sums

STATISTICS = np.random.default_rng(0).normal(3.0, 2.0, size=(400, 3))


class Means:
    names = ("x", "y", "z")
    signature = "means"

    def aggregate(self, sums, count):
        return sums / count


def test_every_resample_draws_as_many_examples_as_there_are():
    sums = resampled_sums(np.ones((37, 1)), Resampling(50))
    assert (sums == 37).all()


def test_resamples_are_sums_of_drawn_rows():
    one_hot = np.eye(6)
    counts = resampled_sums(one_hot, Resampling(30))
    assert (counts == counts.round()).all()
    values = np.arange(6.0)[:, None]
    assert resampled_sums(values, Resampling(30)) == pytest.approx(counts @ values)


def test_the_standard_error_of_a_mean_is_its_textbook_value():
    result = estimates(Means(), STATISTICS, Resampling(4000))
    for column, estimate in zip(STATISTICS.T, result, strict=True):
        assert estimate.value == pytest.approx(column.mean())
        assert estimate.standard_error == pytest.approx(column.std() / 400**0.5, rel=0.05)
        assert estimate.low == pytest.approx(column.mean() - 1.96 * estimate.standard_error, abs=0.03)
        assert estimate.high == pytest.approx(column.mean() + 1.96 * estimate.standard_error, abs=0.03)


def test_the_standard_error_is_the_sample_deviation_of_the_resampled_scores():
    (estimate, *_) = estimates(Means(), STATISTICS, Resampling(5))
    resampled = resampled_sums(STATISTICS, Resampling(5))[:, 0] / len(STATISTICS)
    assert estimate.standard_error == pytest.approx(resampled.std() * (5 / 4) ** 0.5)


def test_chunks_change_nothing(monkeypatch):
    whole = resampled_sums(STATISTICS, Resampling(20))
    monkeypatch.setattr(significance, "_DRAWS_AT_ONCE", 1000)  # two resamples at a time
    assert resampled_sums(STATISTICS, Resampling(20)) == pytest.approx(whole)


def test_the_seed_decides():
    first, again, other = (estimates(Means(), STATISTICS, Resampling(50, seed=seed)) for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize("options", [{"resamples": 1}, {"confidence": 1.0}, {"seed": -1}], ids=str)
def test_wrong_resampling_is_refused(options):
    with pytest.raises(InputError):
        Resampling(**options)


def test_one_example_has_no_spread():
    estimate = Rouge(metrics=("rouge-1",)).corpus(["a b"], [["a c"]], Resampling(10))["rouge-1"].f1
    assert estimate == (0.5, 0.0, 0.5, 0.5)
