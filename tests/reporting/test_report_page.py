"""The report's page: one file that asks for nothing, and what a browser makes of it."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bangbang.metrics.significance import p_text
from bangbang.reporting import Results, page
from tests.browser import Browser, needs_chromium

Reported = tuple[Results, Path]
COUNT = "document.querySelectorAll('{}').length"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture
def shown(browser: Browser, reported: Reported) -> Browser:
    browser.open(reported[1] / "report.html", 1440)
    return browser


def click(text: str, inside: str) -> str:
    return f"[...document.querySelectorAll('{inside} button')].find((each) => each.textContent === '{text}').click()"


def test_it_asks_for_nothing_and_is_small(reported: Reported) -> None:
    text = (reported[1] / "report.html").read_text("utf-8")
    own = re.sub(r'(?s)<script type="application/json".*?</script>', "", text)
    assert not re.search(r"https?:|//\w+\.\w|@import|url\((?!#)|fetch\(|XMLHttp|<link|<img", own)
    assert "{{" not in own and len(text.encode()) < 3_000_000
    assert "<runs>" not in text  # text is text


def test_long_curves_are_thinned_alike(reported: Reported, monkeypatch: pytest.MonkeyPatch) -> None:
    assert page.thinned(reported[0]) == reported[0]
    monkeypatch.setattr(page, "CURVE_POINTS", 4)
    lengths = {row.label: [len(run.validations) for run in row.runs] for row in reported[0].rows}
    assert lengths["MLE"] == [9] and lengths["SPG 0.2"] == [3, 3]
    steps = {
        row.label: [[point.step for point in run.validations] for run in row.runs]
        for row in page.thinned(reported[0]).rows
    }
    assert steps["MLE"] == [[12, 24, 36]] and steps["SPG 0.2"] == [[12], [12]]


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_its_scripts_run_to_the_end(reported: Reported) -> None:
    """Every button and mark included, without a browser; tables and lists have what the results have."""
    results, out = reported
    words = ["node", str(Path(__file__).with_name("page_stub.js")), str(out / "report.html")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["title"].replace("\u2011", "-") == results.answer[0]
    parts, rows = found["parts"], len(results.rows)
    assert [len(parts[name]) for name in ("table", "decoders", "reading", "training")] == [rows + 1] * 4
    assert parts["decoders"][0][1:3] == ["greedy +DUP", "beam 4 +DUP"]
    for row, shown in zip(results.rows, parts["reading"][1:], strict=True):
        reading = row.with_dup.reading
        assert shown[1] == f"{row.with_dup.scores['chrf'].value:.2f} ±{row.with_dup.scores['chrf'].standard_error:.2f}"
        assert shown[3:] == [
            f"{row.with_dup.words:.1f}",
            *(f"{100 * each:.1f}%" for each in (reading.doubled, reading.repeating, reading.cut)),
            "–",
        ]
    assert len(parts["outputs"]) == 20 * rows
    assert [label for label, _ in parts["outputs"][:rows]] == [row.label for row in results.rows]
    assert parts["outputs"][0][1].strip() == results.samples[0].outputs["MLE"]


@needs_chromium
@pytest.mark.parametrize(("width", "dark"), [(390, False), (390, True), (1440, False), (1440, True)])
def test_it_fits_and_nothing_complains(browser: Browser, reported: Reported, width: int, dark: bool) -> None:
    browser.open(reported[1] / "report.html", width, dark=dark)
    assert browser.complaints == []
    assert browser.run("innerWidth") == width
    assert browser.run("document.documentElement.scrollWidth") <= width
    boxes = browser.run(
        "[...document.querySelectorAll('.chart svg, .plot svg, .wave, .bar-of')]"
        ".map((each) => each.getBoundingClientRect())"
        ".filter((box) => box.width > 0).map((box) => [box.left, box.right, box.height])"
    )
    assert len(boxes) == 2 + 1 + 1 + len(reported[0].rows)  # the charts, the targets of this width, the trace, the bars
    assert all(left >= 0 and right <= width and height > 0 for left, right, height in boxes)
    background = browser.run("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", background))) < 200) is dark


@needs_chromium
def test_it_fits_every_width(browser: Browser, reported: Reported) -> None:
    for width in (320, 600, 830, 1024, 1200, 1920):
        browser.open(reported[1] / "report.html", width)
        assert browser.run("document.documentElement.scrollWidth") <= width
        assert browser.complaints == []


@needs_chromium
def test_it_opens_with_the_answer(shown: Browser, reported: Reported) -> None:
    results = reported[0]
    best = max(results.rows, key=lambda row: row.with_dup.scores["rouge-l"].value)
    assert best.label in shown.run("document.querySelector('h1').textContent")
    answer = shown.run("document.getElementById('answer').textContent")
    assert f"{best.with_dup.scores['rouge-l'].value:.2f}" in answer and "30 test examples" in answer


@needs_chromium
def test_every_row_and_validation_is_drawn(shown: Browser, reported: Reported) -> None:
    results = reported[0]
    assert shown.run(COUNT.format("#table tbody tr")) == len(results.rows)
    validations = sum(len(row.runs[0].validations) for row in results.rows)
    assert shown.run(COUNT.format("#curves .mark")) == validations
    assert shown.run(COUNT.format("#curves .line")) == len(results.rows)
    assert shown.run(COUNT.format("#curves .band")) == 1  # the row of two seeds
    assert shown.run(COUNT.format("#sweep .mark")) == 3
    assert shown.run(COUNT.format("#targets .method")) == 5
    assert shown.run(COUNT.format("#trace .pill")) > 2
    assert "<run>" in shown.run("document.querySelector('#again pre').textContent")


@needs_chromium
def test_p_values_are_those_of_the_terminal(shown: Browser, reported: Reported) -> None:
    results = reported[0]
    floor = 1 / (1 + results.resamples)
    for p in (floor, 2 * floor, 0.021, 0.0996, 0.1, 0.5, 1.0):
        assert shown.run(f"pValue({p!r})") == f"p {p_text(p, results.resamples)}"
    cells = shown.run("[...document.querySelectorAll('#table td.difference .error')].map((each) => each.textContent)")
    every = [results.p_text(found["rouge-l"]) for row in results.rows for found in row.with_dup.against.values()]
    assert sorted(text.strip() for text in cells) == sorted(every)


@needs_chromium
def test_switches_change_what_is_drawn(shown: Browser) -> None:
    numbers = "document.querySelector('#table tbody').textContent"
    ticks = "[...document.querySelectorAll('#curves .grid text')].map((each) => each.textContent).join()"
    lines = "document.querySelector('#curves .line').getAttribute('d')"
    before = [shown.run(script) for script in (numbers, ticks, lines)]
    shown.run(click("by time", "#curves"))
    assert shown.run(ticks) != before[1] and "minutes" in shown.run(ticks)
    shown.run(click("ROUGE-2", "#curves"))
    assert shown.run(lines) != before[2]
    shown.run(click("MLE", "#curves .legend"))
    assert shown.run(COUNT.format("#curves .line")) == 4
    shown.run(click("without DUP", "#table"))
    assert shown.run(numbers) != before[0]


@needs_chromium
def test_pointing_at_a_mark_tells_its_numbers(shown: Browser, reported: Reported) -> None:
    place = sum(len(row.runs[0].validations) for row in reported[0].rows[:2])  # the first mark of SPG 0.2
    shown.run(f"document.querySelectorAll('#curves .mark')[{place}].dispatchEvent(new MouseEvent('mouseenter'))")
    note = shown.run("document.querySelector('#curves .tip').textContent")
    assert re.fullmatch(r"SPG 0.2: \d+\.\d\dstep 4 · [\d.]+ min · [\d.]+ to [\d.]+ over 2 seeds", note)
    shown.run(f"document.querySelectorAll('#curves .mark')[{place}].dispatchEvent(new MouseEvent('mouseleave'))")
    assert shown.run("document.querySelector('#curves .tip').hidden")


def found(shown: Browser) -> int:
    """How many examples the browser of examples says it has."""
    return int(re.match(r"\d+", shown.run("document.querySelector('#examples .count').textContent"))[0])  # type: ignore[index]


def choose(place: int, label: str) -> str:
    return (
        f"(() => {{ const chosen = document.querySelectorAll('#examples select')[{place}]; chosen.value = '{label}';"
        "chosen.dispatchEvent(new Event('change')); })()"
    )


@needs_chromium
def test_filters_choose_examples(shown: Browser, reported: Reported) -> None:
    text = (reported[1] / "report.html").read_text("utf-8")
    record = json.loads(re.search(r'(?s)id="record">(.*?)</script>', text)[1])["browser"]  # type: ignore[index]
    assert len(record["examples"]) == record["total"] == 30
    a, b = (record["labels"].index(label) for label in ("MLE", "SPG 0.6"))
    by = [example["scores"][a] - example["scores"][b] for example in record["examples"]]
    shown.run(choose(0, "MLE"))
    shown.run(choose(1, "SPG 0.6"))
    assert found(shown) == sum(difference != 0 for difference in by)
    shown.run(click("first better", "#examples"))
    assert found(shown) == sum(difference > 0 for difference in by) > 0
    assert shown.run(COUNT.format("#examples .example")) == min(12, found(shown))
    assert shown.run(COUNT.format("#examples .by.down")) == 0
    shown.run(click("first worse", "#examples"))
    assert found(shown) == sum(difference < 0 for difference in by)
    shown.run(click("either way", "#examples"))
    search = "(() => {{ const field = document.querySelector('input[type=search]'); field.value = '{}';"
    search += "field.dispatchEvent(new Event('input')); }})()"
    shown.run(search.format("Calendar"))
    having = [example for example in record["examples"] if "calendar" in json.dumps(example).lower()]
    differing = [example for example in having if example["scores"][a] != example["scores"][b]]
    assert 0 < found(shown) == len(differing) < 30
    shown.run(search.format("zzz"))
    assert found(shown) == 0 == shown.run(COUNT.format("#examples .example"))
