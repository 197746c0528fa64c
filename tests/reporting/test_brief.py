"""Outputs as the brief report shows them."""

from bangbang.reporting.brief import side_by_side
from bangbang.reporting.results import Sample


def test_an_example_is_shown_with_what_each_row_wrote() -> None:
    sample = Sample(1, "word " * 99, ["Read a file."], {"MLE": "Read it.", "ours": ""})
    source, *lines = side_by_side(sample).plain.splitlines()
    assert source.startswith("source     word word")
    assert lines[-3:] == ["reference  Read a file.", "MLE        Read it.", "ours"]
