"""The page in a browser: it asks, shows, and takes every text for a text."""

import base64
import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from bangbang.serving import Server
from bangbang.serving.pages import SCRIPTS, page_files
from tests.browser import Browser, needs_chromium
from tests.conftest import sentence

EVIL = "</script><img src=x onerror=alert(1)>\u2028{{RECORD}}"
READY = "new Promise((done) => { const look = () => at('write').disabled ? setTimeout(look, 20) : done(); look(); })"


def test_texts_are_put_in_as_texts() -> None:
    """The one piece of HTML is the line of a trace, made of numbers."""
    text = "".join(file.read_text("utf-8") for file in SCRIPTS)
    assert text.count("insertAdjacentHTML") == 1
    assert "innerHTML" not in text and "document.write" not in text and "eval(" not in text
    evil = dict.fromkeys(("name", "label", "reads", "checkpoint", "caveat", "missing"), EVIL)
    page = page_files([evil])["/"][1].decode()
    assert "<img src=x" not in page
    record = page.partition('id="record">')[2].partition("</script>")[0]
    assert json.loads(record)["runs"] == [evil]


def ask(browser: Browser, **fields: str) -> None:
    for name, value in fields.items():
        browser.run(f"at('{name}').value = {json.dumps(value)}; at('{name}').dispatchEvent(new Event('input'))")
    browser.run("at('ask').requestSubmit()")
    browser.run(READY)


def count(browser: Browser, what: str) -> Any:
    return browser.run(f"document.querySelectorAll({json.dumps(what)}).length")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with Browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@needs_chromium
@pytest.mark.parametrize(("width", "dark"), list(itertools.product((390, 1440), (False, True))))
def test_a_text_is_asked_of(server: Server, browser: Browser, width: int, dark: bool) -> None:
    browser.open(server.url, width, dark=dark)
    source, reference = sentence(12)
    ask(browser, text=source, reference=reference)
    assert browser.run("at('status').textContent").endswith(" s")
    assert count(browser, ".answer") == 1 and count(browser, ".output") == 3
    assert count(browser, ".token") >= 6 and count(browser, ".token.reward") > 0 and count(browser, ".pill") > 0
    browser.run("document.querySelector('.token').focus()")
    assert "In training" in browser.run("document.querySelector('.tip').textContent")
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.complaints == []


@needs_chromium
def test_a_picture_is_asked_of(server: Server, browser: Browser, shapes_run: Path) -> None:
    file = next((shapes_run.parent / "scenes").glob("*.png"))
    browser.open(server.url, 1440)
    content = base64.b64encode(file.read_bytes()).decode()
    browser.run(f"choose(new File([Uint8Array.from(atob('{content}'), (c) => c.charCodeAt(0))], 'scene.png'))")
    browser.run(READY)
    assert browser.run("document.querySelector('.answer h2').textContent") == "shapes"
    assert count(browser, ".output") == 3 and browser.run("at('preview').naturalWidth") > 0
    assert browser.complaints == []


@needs_chromium
@pytest.mark.parametrize("text", [EVIL, "a" * 900_000])
def test_hostile_texts_do_nothing(server: Server, browser: Browser, text: str) -> None:
    browser.open(server.url, 390)
    ask(browser, text=text, reference="small clock " + text[:500])
    assert count(browser, ".output") == 3 and count(browser, "img") == 1  # the preview
    assert browser.run("document.querySelector('dd.source').textContent") == text[:2_000]
    assert browser.run("document.documentElement.scrollWidth") <= 390
    assert browser.complaints == []


@needs_chromium
def test_what_is_wrong_is_said_beside_the_button(server: Server, browser: Browser) -> None:
    browser.open(server.url, 390)
    ask(browser, text=" ")
    assert browser.run("at('status').textContent") == "type a text or choose a picture"
    assert browser.run("at('status').className") == "wrong" and count(browser, ".answer") == 0
