"""docs/huggingface.md has a row for each family, which says what the check finds.

Run as a module, this file prints the rows.
"""

from pathlib import Path

import torch

from bangbang.hf import Inputs
from bangbang.hf.check import examine
from bangbang.hf.samples import waves
from tests.hf.families import FAMILIES, new_model

PAGE = Path(__file__).parents[2] / "docs" / "huggingface.md"
HEAD = ["| family | class | reads | head | chunks |", "|---|---|---|---|---|"]


def row(name: str) -> str:
    pictures = Inputs({"input_ids": torch.ones(2, 1, dtype=torch.long), "pixel_values": waves((2, 3, 8, 8))})
    report = examine(name, new_model(name), example=pictures if name == "git" else None)
    assert report.fits, report.troubles
    chunks = "no" if any("one token at a time" in note for note in report.notes) else "yes"
    return f"| {name} | `{report.model}` | `{report.reads}` | {report.head} | {chunks} |"


def table() -> list[str]:
    return [*HEAD, *map(row, FAMILIES)]


def test_the_table_of_families_is_what_the_check_finds() -> None:
    _, _, rest = PAGE.read_text("utf-8").partition("<!-- families -->\n")
    shown, _, _ = rest.partition("<!-- end of families -->")
    assert shown.splitlines() == table()


if __name__ == "__main__":
    print("\n".join(table()))
