"""The report as one HTML file that needs nothing else."""

import html
from collections.abc import Sequence

from bangbang.reporting.results import Results
from bangbang.reporting.rows import Group


def page(results: Results, groups: Sequence[Group]) -> str:
    rows = "".join(
        f"<tr><th>{html.escape(row.label)}<td>{row.with_dup.scores[results.main].value:.3f}" for row in results.rows
    )
    return f"<!doctype html>\n<title>{html.escape(results.title)}</title>\n<table>{rows}</table>\n"
