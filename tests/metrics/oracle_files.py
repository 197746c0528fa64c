"""Where the reference programs' scores are, if they are on this machine."""

import json
from pathlib import Path

import pytest

ORACLES = Path(__file__).parents[2].resolve().parent / "shared" / "oracles"
FIXTURES = Path(__file__).parent / "fixtures"
needs_oracles = pytest.mark.skipif(not ORACLES.is_dir(), reason="../shared/oracles is not here")


def rows(name):
    return [json.loads(line) for line in (ORACLES / name).read_text(encoding="utf-8").splitlines()]


def fixture(name):
    return json.loads((FIXTURES / name).read_text(encoding="utf-8"))
