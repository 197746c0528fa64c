"""The page: one file that asks for nothing, shows text as text, and runs in a browser."""

import itertools
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from bangbang.explanation import Subject, draw_targets, trace
from bangbang.explanation.page import page, targets_record, trace_record
from bangbang.explanation.scatter import LOOKS, inline_svg, picture_bytes
from bangbang.explanation.targets import Methods, Targets, bang_bang
from bangbang.objectives.settings import Mle
from tests.browser import Browser, needs_chromium

COUNTED = (".pill", ".pill[aria-pressed=true]", ".wave", "tr", ".method")
EVIL = "</script><img src=x onerror=alert(1)> & <!-- {{RECORD}}"


@pytest.fixture(scope="module")
def drawn(subject: Subject) -> list[Targets]:
    return list(draw_targets(subject, Methods.of(Mle(), 0), 30))


@pytest.fixture(scope="module")
def pages(subject: Subject, drawn: list[Targets]) -> dict[str, str]:
    settings = bang_bang(Mle(), 0, 0.5)
    record = trace_record(subject, settings, trace(subject, settings, 2), 2) | {"source": EVIL}
    drawings = inline_svg(drawn, "wide", 7, 5) + inline_svg(drawn, "narrow", 4, 4)
    return {"trace": page(EVIL, record), "targets": page("targets", targets_record(subject, drawn, 1), drawings)}


class Reader(HTMLParser):
    """What a browser would find: addresses, ids, and the texts of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.ids: list[str] = []
        self.texts: dict[str, str] = {}
        self.inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        self.addresses += [value or "" for name, value in attributes if name in ("src", "href", "xlink:href", "action")]
        self.ids += [values["id"] or ""] if "id" in values else []
        self.inside = str(values.get("id", tag))

    def handle_data(self, text: str) -> None:
        self.texts[self.inside] = self.texts.get(self.inside, "") + text


@pytest.mark.parametrize("kind", ["trace", "targets"])
def test_it_asks_for_nothing(pages: dict[str, str], kind: str) -> None:
    found = Reader(pages[kind])
    assert all(address.startswith("#") for address in found.addresses)
    own = re.sub(r'(?s)<script type="application/json".*?</script>', "", pages[kind])
    assert not re.search(r"https?:|//\w+\.\w|@import|url\((?!#)|fetch\(|XMLHttp|<link", own)
    assert len(set(found.ids)) == len(found.ids)
    assert "{{" not in own.replace(EVIL, "") or kind == "trace"


def test_text_stays_text(pages: dict[str, str]) -> None:
    found = Reader(pages["trace"])
    assert json.loads(found.texts["record"])["source"] == EVIL
    assert found.texts["title"].strip() == EVIL
    assert "<img" not in pages["trace"]


def test_every_target_is_a_mark(drawn: list[Targets]) -> None:
    drawing = inline_svg(drawn, "wide", 7, 5)
    for each in drawn:
        group = drawing[drawing.index(f'class="points {LOOKS[each.method].name}"') :]
        group = group[: re.search(r'class="points|id="wide-legend|</svg>', group[20:]).end()]  # type: ignore[union-attr]
        marks = group.count("<use") or len(re.findall(r"<path[^>]*clip-path", group))
        assert marks == len(each.targets)
    assert "xmlns" not in drawing and "<style" not in drawing and "#" not in re.sub(r'(href="|url\()#', "", drawing)


@pytest.mark.parametrize(("kind", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_pictures(drawn: list[Targets], kind: str, magic: bytes) -> None:
    assert picture_bytes(drawn, kind).startswith(magic)


@needs_chromium
def test_it_runs_in_a_browser(pages: dict[str, str], tmp_path: Path) -> None:
    with Browser(tmp_path / "profile") as browser:
        for kind, width in itertools.product(pages, (390, 1440)):
            file = tmp_path / f"{kind}.html"
            file.write_text(pages[kind], encoding="utf-8")
            browser.open(file, width)
            assert browser.complaints == []
            assert browser.run("document.documentElement.scrollWidth") <= width
            record = json.loads(Reader(pages[kind]).texts["record"])
            count = {name: browser.run(f"document.querySelectorAll('{name}').length") for name in COUNTED}
            if kind == "trace":
                assert count[".pill"] == len(record["target"]["steps"])
                assert count[".pill[aria-pressed=true]"] == count[".wave"] == 1
                assert count["tr"] > 5
            else:
                assert count[".method"] == len(record["methods"])
