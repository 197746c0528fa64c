"""A subject of the small run: its first validation example."""

from pathlib import Path

import pytest

from bangbang.explanation import Subject
from bangbang.explanation.subject import validation_example
from bangbang.training import Run


@pytest.fixture(scope="session")
def subject(tiny_run: Path) -> Subject:
    run = Run.open(tiny_run)
    return Subject.of(run, validation_example(run, 3))
