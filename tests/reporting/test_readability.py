"""What outputs read like: each number against its definition."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bangbang.reporting.likelihood import Likelihood
from bangbang.reporting.readability import is_doubled, is_repeating, mean_log_likelihood, mean_words, share

texts = st.lists(st.sampled_from("ab"), max_size=6).map(" ".join)


@pytest.mark.parametrize(
    ("text", "doubled", "repeating"),
    [
        ("", False, False),
        ("a", False, False),
        ("a b a c", False, False),
        ("a a", True, False),
        ("a a a", True, True),  # the pair of a and a comes twice
        ("a b a b", False, True),
        ("a b c a b", False, True),
        ("a b b a", True, False),
    ],
)
def test_repeats(text: str, doubled: bool, repeating: bool) -> None:
    assert (is_doubled(text), is_repeating(text)) == (doubled, repeating)


@given(texts)
def test_repeats_by_every_pair_of_places(text: str) -> None:
    words = text.split()
    places = range(len(words) - 1)
    assert is_doubled(text) == any(words[place] == words[place + 1] for place in places)
    same = (words[one : one + 2] == words[other : other + 2] for one in places for other in places if one < other)
    assert is_repeating(text) == any(same)


def test_lengths_and_shares() -> None:
    assert mean_words(["a b c", "", "a"]) == pytest.approx(4 / 3) and mean_words([]) == 0
    assert share([True, False, False, True]) == 0.5 and share([]) == 0


@given(st.lists(st.tuples(st.floats(-50, 0), st.integers(1, 9)), min_size=1, max_size=5))
def test_likelihood_is_that_of_all_tokens_together(found: list[tuple[float, int]]) -> None:
    known = [Likelihood(*pair) for pair in found]
    expected = sum(pair[0] for pair in found) / sum(pair[1] for pair in found)
    assert mean_log_likelihood(known) == pytest.approx(expected)
    assert mean_log_likelihood([*known, None]) is None
