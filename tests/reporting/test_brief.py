"""Outputs as the brief report shows them."""

import pytest

from bangbang.reporting.brief import as_people_write


@pytest.mark.parametrize(
    ("output", "written"),
    [
        ("return the name of a file .", "Return the name of a file."),
        ("close it ( and wait ) , if open", "Close it (and wait), if open"),
        ("the loop 's state , which does n't change", "The loop's state, which doesn't change"),
        ("a < b", "A < b"),
        ("x", "X"),
        ("", ""),
    ],
)
def test_marks_are_closed_up_and_sentences_begin(output: str, written: str) -> None:
    assert as_people_write(output) == written
