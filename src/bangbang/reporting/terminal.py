"""The report's table in a terminal, like the paper's tables 1 and 2."""

from collections.abc import Iterator

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from bangbang.reporting.results import Results, Row, Score
from bangbang.tasks import shown
from bangbang.tasks import title as title_of

LABEL, NUMBER = 9, 7  # columns that a name and a number need


def table(results: Results) -> RenderableType:
    """Test scores with DUP, the main one without, and differences to the baselines; then how each row was trained."""
    caveat = [Text(results.caveat)] if results.caveat else []
    return Group(score_table(results), training_table(results), *caveat, Text(results.signature, style="dim"))


def score_table(results: Results) -> Table:
    title = f"{results.title}: {results.examples:,} test examples, greedy + DUP, ± standard error"
    grid = Table(title=Text(title, "table.title"), title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    grid.add_column("", min_width=LABEL, overflow="fold")
    for name in results.scores:
        grid.add_column(Text(title_of(name)), justify="right", min_width=NUMBER)
    grid.add_column(Text(f"{title_of(results.main)} without DUP"), justify="right", min_width=NUMBER)
    for label in results.baselines:
        grid.add_column(Text(f"{title_of(results.main)} over {label}"), justify="right", min_width=NUMBER)
    best = max(row.with_dup.scores[results.main].value for row in results.rows)
    for row, last in with_sections(results.rows):
        winner = row.with_dup.scores[results.main].value == best
        cells = [with_error(name, row.with_dup.scores[name]) for name in results.scores]
        cells.append(with_error(results.main, row.without_dup.scores[results.main]))
        cells += [difference(results, row, label) for label in results.baselines]
        grid.add_row(name_of(row), *cells, style="bold" if winner else "", end_section=last)
    return grid


def with_sections(rows: list[Row]) -> Iterator[tuple[Row, bool]]:
    """Each row, and whether a line follows it: SPG's rows are set apart as in the paper, and so are our own."""

    def kind(row: Row) -> tuple[bool, bool]:
        return row.extension, row.p_drop is not None

    for row, after in zip(rows, [*rows[1:], None], strict=True):
        yield row, after is not None and kind(row) != kind(after)


def name_of(row: Row) -> Text:
    return Text(f"{row.label} *" if row.extension else row.label)


def with_error(name: str, score: Score) -> str:
    return f"{shown(name, score.value)} ±{shown(name, score.standard_error)}"


def difference(results: Results, row: Row, label: str) -> str:
    found = row.with_dup.against.get(label)
    if found is None:
        return ""
    main = found[results.main]
    sign = "+" if main.value >= 0 else "-"
    # one word, so that a narrow cell breaks before it
    p = results.p_text(main).replace(" ", "")
    return f"{sign}{shown(results.main, abs(main.value))} {p}"


def training_table(results: Results) -> Table:
    grid = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    grid.add_column("", min_width=LABEL, overflow="fold")
    grid.add_column("seeds")
    for heading in ("spread", "best in validation", "at step", "minutes", "examples/s"):
        grid.add_column(heading, justify="right", min_width=NUMBER)
    for row, last in with_sections(results.rows):
        spread = row.with_dup.scores[results.main].spread
        chosen_by = row.runs[0].chosen_by
        grid.add_row(
            name_of(row),
            " ".join(map(str, row.seeds)),
            "" if spread is None else shown(results.main, spread),
            Text(f"{title_of(chosen_by)} {shown(chosen_by, row.mean('best_score'))}"),
            f"{row.mean('best_step'):,.0f}",
            f"{row.mean('seconds') / 60:.1f}",
            f"{row.mean('examples_per_second'):,.0f}",
            end_section=last,
        )
    if any(row.extension for row in results.rows):
        grid.caption, grid.caption_justify = "* a row of our own, not the paper's", "left"
    return grid
