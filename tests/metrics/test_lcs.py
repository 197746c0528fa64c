"""Bit-vector LCS against full tables."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bangbang.errors import InputError
from bangbang.metrics import lcs, weighted_lcs
from tests.oracles.rouge155_literal import mark_lcs

TOKENS = st.lists(st.sampled_from("abc"), max_size=12)


@settings(max_examples=300, derandomize=True)
@given(TOKENS, TOKENS)
def test_length_and_positions_equal_the_full_table(x, y):
    marks = mark_lcs(x, y)
    assert lcs.length(x, y) == len(marks)
    assert set(lcs.matched_rows(x, y)) == marks


@settings(max_examples=100, derandomize=True)
@given(TOKENS, TOKENS)
def test_positions_do_not_depend_on_how_much_of_the_table_is_kept(x, y):
    kept = lcs._BITS_KEPT
    lcs._BITS_KEPT = 4
    try:
        assert set(lcs.matched_rows(x, y)) == mark_lcs(x, y)
    finally:
        lcs._BITS_KEPT = kept


def test_long_columns_equal_short_ones():
    y = [str(index % 7) for index in range(300)]
    assert lcs._columns_of_long(y) == lcs.columns(y)


@settings(max_examples=200, derandomize=True)
@given(TOKENS, TOKENS)
def test_weighted_positions_equal_the_full_table_both_ways(x, y):
    marks = mark_lcs(x, y, 1.2)
    assert set(weighted_lcs.matched_rows(x, y, 1.2)) == marks
    if x and y:
        assert set(weighted_lcs._large(x, y, 1.2)) == marks


def test_a_hopelessly_long_weighted_lcs_is_refused_with_a_way_out():
    words = ["w"] * 30_000
    with pytest.raises(InputError, match="one sentence each"):
        weighted_lcs.matched_rows(words, words, 1.2)
