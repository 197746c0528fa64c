"""Error rates against literal definitions, their directions, and what several references mean."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bangbang.errors import InputError
from bangbang.metrics import ErrorRates, Resampling, compare, estimates
from bangbang.metrics.error_rates import edit_distance
from bangbang.metrics.metric import is_better, lower_is_better

SYMBOLS = ("a", "b", "t͡ʃ", "ã̠", "ɯ̟ᵝ")
strings = st.lists(st.sampled_from(SYMBOLS), max_size=6)
words = strings.filter(bool)


def literal_distance(z: tuple[str, ...], y: tuple[str, ...]) -> int:
    """By its recursive definition."""

    @cache
    def distance(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        kept = distance(i - 1, j - 1) + (z[i - 1] != y[j - 1])
        return min(distance(i - 1, j) + 1, distance(i, j - 1) + 1, kept)

    return distance(len(z), len(y))


@given(strings, strings)
def test_the_distance_is_the_recursive_one(z: list[str], y: list[str]) -> None:
    assert edit_distance(z, y) == literal_distance(tuple(z), tuple(y))


@given(st.lists(st.tuples(strings, words), min_size=1, max_size=8))
def test_rates_are_their_definitions(pairs: list[tuple[list[str], list[str]]]) -> None:
    metric = ErrorRates()
    outputs, references = [" ".join(z) for z, _ in pairs], [[" ".join(y)] for _, y in pairs]
    wer, per = (each.value for each in estimates(metric, metric.statistics(outputs, references), None))
    assert wer == pytest.approx(100 * sum(z != y for z, y in pairs) / len(pairs))
    edits = sum(literal_distance(tuple(z), tuple(y)) for z, y in pairs)
    assert per == pytest.approx(100 * edits / sum(len(y) for _, y in pairs))


def test_wer_is_the_share_of_words_that_are_not_exactly_right() -> None:
    metric = ErrorRates()
    assert metric.names == ("wer", "per") and lower_is_better(metric) == {"wer", "per"}
    statistics = metric.statistics(["a b", "a  b ", "b", ""], [["a b"], ["a b"], ["a b"], ["a b"]])
    assert statistics.tolist() == [[0, 0, 2], [0, 0, 2], [1, 1, 2], [1, 2, 2]]  # blanks only part symbols
    assert metric.aggregate(statistics.sum(0), 4).tolist() == [50, 37.5]
    assert metric.per_example(statistics).tolist() == [[0, 0], [0, 0], [100, 50], [100, 100]]
    assert is_better(metric, "wer", 10, 20)


def test_characters_count_blanks() -> None:
    metric = ErrorRates("characters")
    assert metric.names == ("wer", "cer")
    assert metric.statistics(["lookup", "look up"], [["look up"], ["look up"]]).tolist() == [[1, 1, 7], [0, 0, 7]]


def test_of_several_references_the_nearest_counts() -> None:
    metric = ErrorRates()
    found = metric.statistics(["a b c", "a b c", "a"], [["a", "a b c"], ["a b", "a b c d e"], ["b", "c c"]])
    assert found.tolist() == [[0, 0, 3], [1, 1, 2], [1, 1, 1]]


def test_empty_references_make_no_division_by_zero() -> None:
    metric = ErrorRates()
    assert metric.per_example(metric.statistics(["", "a"], [[""], [""]])).tolist() == [[0, 0], [100, 100]]
    with pytest.raises(InputError, match="nothing to score"):
        metric.statistics([], [])


def test_error_bars_and_paired_tests() -> None:
    references = [["a b"]] * 40
    good, bad = ["a b"] * 36 + ["a"] * 4, ["a b"] * 20 + ["b"] * 20
    found = compare(ErrorRates(), good, bad, references, Resampling(200)).scores
    assert found["wer"].difference.value == pytest.approx(-40) and found["wer"].p_randomisation < 0.01
    assert found["wer"].a.standard_error == pytest.approx(100 * np.sqrt(0.1 * 0.9 / 40), rel=0.2)
    same = compare(ErrorRates(), good, good, references, Resampling(200)).scores
    assert same["wer"].p_randomisation == same["per"].p_bootstrap == 1


def test_the_signature_states_the_unit() -> None:
    assert ErrorRates().signature.startswith("error-rates|unit:symbols|multi:nearest|bangbang:")
    assert "unit:characters" in ErrorRates("characters").signature
