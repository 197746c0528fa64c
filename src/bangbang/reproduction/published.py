"""Scores that others have published."""

import tomllib
from collections.abc import Sequence
from pathlib import Path

FILE = Path(__file__).parent / "published.toml"


def published_scores(task: str, languages: Sequence[str]) -> dict[str, dict[str, float]]:
    """By name, the scores of these languages, as far as there are such."""
    rows: dict[str, dict[str, float]] = tomllib.loads(FILE.read_text("utf-8")).get(task, {})
    found = {name: {each: row[each] for each in languages if each in row} for name, row in rows.items()}
    return {name: row for name, row in found.items() if row}
