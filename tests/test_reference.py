"""The pages of docs/reference/ are what docs/reference.py writes, and have every key and every verb."""

import runpy
from pathlib import Path

import pytest

from bangbang import config as configs
from bangbang import registry
from bangbang.cli.main import VERBS
from bangbang.settings import KindSettings

DOCS = Path(__file__).parents[1] / "docs"
PAGES: dict[str, str] = runpy.run_path(str(DOCS / "reference.py"))["pages"]()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_current(name: str) -> None:
    kept = (DOCS / "reference" / name).read_text("utf-8")
    assert kept == PAGES[name], f"docs/reference/{name} is out of date; write it with: python docs/reference.py"


def test_every_key_has_a_meaning_and_every_verb_is_there() -> None:
    page = PAGES["config.md"]
    for base in configs.bases().values():
        kinds = registry.built_in(base.group).values() if issubclass(base, KindSettings) else [base]
        for key in (key for kind in kinds for key in registry.fields_of(kind)):
            assert f"| `{key}` |" in page
    assert not [line for line in page.splitlines() if line.endswith("|  |")]
    assert all(f"## bangbang {verb}\n" in PAGES["verbs.md"] for verb in VERBS)
