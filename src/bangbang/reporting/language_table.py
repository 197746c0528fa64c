"""The table of many languages in a terminal, as Markdown and as a page."""

from collections.abc import Iterator, Sequence
from html import escape
from importlib import resources
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from bangbang.errors import InputError
from bangbang.files import make_folder, write_whole
from bangbang.metrics.significance import p_text
from bangbang.reporting.languages import LanguageResults, LanguageRow, LanguageScore
from bangbang.tasks import shown, title

RESULTS, MARKDOWN, PAGE = "languages.json", "languages.md", "languages.html"
STYLE = resources.files("bangbang.reporting") / "languages.css"


def headings(results: LanguageResults) -> list[str]:
    return ["", *results.languages, "mean", "all words", f"over {results.baseline}"]


def cells(results: LanguageResults) -> Iterator[list[str]]:
    """Rows of the table as texts, what others published last."""
    for row in results.rows:
        scores = [bars(results, row.scores.get(language)) for language in results.languages]
        yield [name_of(row), *scores, bars(results, row.mean), bars(results, row.pooled), gained(results, row)]
    for name, found in results.published.items():
        numbers = [number(results, found.get(language)) for language in results.languages]
        yield [f"{name} (published)", *numbers, number(results, results.published_mean(name)), "", ""]


def name_of(row: LanguageRow) -> str:
    kind = f", {row.runs} as one" if row.ensemble else ""
    return f"{row.label}{kind}, {row.decoding}"


def number(results: LanguageResults, value: float | None) -> str:
    return "" if value is None else shown(results.score, value)


def bars(results: LanguageResults, score: LanguageScore | None) -> str:
    if score is None:
        return ""
    return f"{shown(results.score, score.value)} ±{shown(results.score, score.standard_error)}"


def gained(results: LanguageResults, row: LanguageRow) -> str:
    if row.against is None:
        return ""
    value, p = row.against.value, p_text(row.against.p_randomisation, results.resamples)
    return f"{'+' if value >= 0 else '-'}{shown(results.score, abs(value))} p {p}"


def about(results: LanguageResults) -> str:
    examples, seeds = sum(results.languages.values()), {row.runs for row in results.rows if not row.ensemble}
    told = "less" if results.less_is_better else "more"
    runs = " or ".join(map(str, sorted(seeds)))
    return (
        f"{title(results.score)} on {examples:,} test words; {told} is better. Rows are means of {runs} seeds, ± "
        f"standard error over words. The last column is the difference to {results.baseline} by the same decoder, "
        "on all words."
    )


def language_table(results: LanguageResults) -> RenderableType:
    heading = Text(results.title, "table.title")
    grid = Table(title=heading, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for place, name in enumerate(headings(results)):
        grid.add_column(Text(name), justify="right" if place else "left", overflow="fold")
    for row in cells(results):
        grid.add_row(*map(Text, row))
    return Group(grid, Text(about(results)), Text(results.signature, style="dim"))


def markdown(results: LanguageResults) -> str:
    rows = [headings(results), ["---"] * len(headings(results)), *cells(results)]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([f"# {results.title}", "", *lines, "", about(results), ""])


def page(results: LanguageResults, links: Sequence[str]) -> str:
    """A page of the table alone; `links`: the languages that have a report of their own."""
    head = "".join(f"<th>{linked(name, links)}</th>" for name in headings(results))
    body = "".join("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>\n" for row in cells(results))
    commands = "\n".join(map(escape, results.commands))
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="color-scheme" content="light dark">\n<title>{escape(results.title)}</title>\n'
        f"<style>\n{STYLE.read_text('utf-8')}</style>\n</head>\n<body>\n<main>\n<h1>{escape(results.title)}</h1>\n"
        f"<div>\n<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n</div>\n"
        f"<p>{escape(about(results))}</p>\n<pre>{commands}</pre>\n<p>{escape(results.signature)}</p>\n"
        "</main>\n</body>\n</html>\n"
    )


def linked(name: str, links: Sequence[str]) -> str:
    return f'<a href="{escape(name)}/report.html">{escape(name)}</a>' if name in links else escape(name)


def write_languages(results: LanguageResults, out: Path, links: Sequence[str]) -> None:
    """OUT/languages.json, OUT/languages.md and OUT/languages.html."""
    content = {RESULTS: results.json(), MARKDOWN: markdown(results), PAGE: page(results, links)}
    try:
        make_folder(out)
        for name, text in content.items():
            write_whole(out / name, text.encode("utf-8", "replace"))
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror}); choose another --out") from None
