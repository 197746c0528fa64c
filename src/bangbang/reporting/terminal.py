"""The report in a terminal: the answer, tables like the paper's 1 and 2, and a few outputs."""

from collections.abc import Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from bangbang.reporting.examples import evenly
from bangbang.reporting.results import Difference, Results, Row, Sample, Score, Side
from bangbang.tasks import shown
from bangbang.tasks import title as title_of

LABEL, NUMBER = 9, 7  # columns that a name and a number need
SAMPLES = 3  # examples whose outputs are shown
SOURCE_CHARACTERS = 200


def table(results: Results) -> RenderableType:
    """The answer; test scores with DUP, the main one without, by other decoders; what outputs read like; some of them.

    Then how each row was trained.
    """
    headline, *sentences = results.answer or [""]
    notes = [Text(note) for note in (results.unjudged, results.caveat) if note]
    return Group(
        Text(headline, style="bold"),
        Text(" ".join(sentences)),
        score_table(results),
        *([decoder_table(results)] if len(results.decoders) > 1 else []),
        reading_table(results),
        training_table(results),
        *notes,
        *(sample_lines(sample) for sample in evenly(results.samples, SAMPLES)),
        Text(results.signature, style="dim"),
    )


def score_table(results: Results) -> Table:
    title = f"{results.title}: {results.examples:,} test examples, greedy + DUP, ± standard error"
    headings = [title_of(name) for name in results.scores]
    headings.append(f"{title_of(results.main)} without DUP")
    headings += [f"{title_of(results.main)} over {label}" for label in results.baselines]
    grid = new_table(title, headings)
    best = results.sign * max(results.sign * row.with_dup.scores[results.main].value for row in results.rows)
    for row, last in with_sections(results.rows):
        winner = row.with_dup.scores[results.main].value == best
        cells = [with_error(name, row.with_dup.scores[name]) for name in results.scores]
        cells.append(with_error(results.main, row.without_dup.scores[results.main]))
        cells += [difference(results, row, label) for label in results.baselines]
        grid.add_row(name_of(row), *cells, style="bold" if winner else "", end_section=last)
    return grid


def new_table(title: str, headings: Sequence[str]) -> Table:
    """An empty one, with a column for names first."""
    grid = Table(title=Text(title, "table.title"), title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    grid.add_column("", min_width=LABEL, overflow="fold")
    for heading in headings:
        grid.add_column(Text(heading), justify="right", min_width=NUMBER)
    return grid


def with_sections(rows: list[Row]) -> Iterator[tuple[Row, bool]]:
    """Each row, and whether a line follows it: SPG's rows are set apart as in the paper, and so are others than its."""

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
    return "" if found is None else with_p(results, results.main, found[results.main])


def with_p(results: Results, score: str, found: Difference) -> str:
    sign = "+" if found.value >= 0 else "-"
    # one word, so that a narrow cell breaks before it
    p = results.p_text(found).replace(" ", "")
    return f"{sign}{shown(score, abs(found.value))} {p}"


def decoder_table(results: Results) -> Table:
    """The main score by every decoder, over the first baseline by the same one; then each row's best way."""
    first = results.baselines[0]
    title = f"{title_of(results.main)} by decoder, and over {first} by the same; last, each row's best and {first}'s"
    grid = new_table(title, [*(decoder_name(results, name) for name in results.decoders), "best in validation"])
    for row, last in with_sections(results.rows):
        cells = [side_cell(results, row.decoded[name], row.decoded[name].against) for name in results.decoders]
        best = row.best
        cells.append(Text(best.decoder + " ") + side_cell(results, row.decoded[best.decoder], best.against))
        grid.add_row(name_of(row), *cells, end_section=last)
    return grid


def decoder_name(results: Results, name: str) -> str:
    """As all rows decode by it; its own name where they differ."""
    told = {row.decoded[name].decoding for row in results.rows}
    return told.pop() if len(told) == 1 else name


def side_cell(results: Results, side: Side, against: dict[str, dict[str, Difference]]) -> Text:
    value = shown(results.main, side.scores[results.main].value)
    found = against.get(results.baselines[0])
    return Text(value if found is None else f"{value}\n{with_p(results, results.main, found[results.main])}")


def reading_table(results: Results) -> Table:
    """What training does not see: a score of another family, lengths, repeats, cuts, likelihood under another model."""
    first, other = results.baselines[0], results.other
    headings = [title_of(other), f"over {first}", "words", "a word doubled", "a pair twice", "cut", "log p/token"]
    grid = new_table("What training does not see, greedy + DUP", headings)
    for row, last in with_sections(results.rows):
        side, reading = row.with_dup, row.with_dup.reading
        found = side.against.get(first)
        grid.add_row(
            name_of(row),
            with_error(other, side.scores[other]),
            "" if found is None else with_p(results, other, found[other]),
            f"{side.words:.1f}",
            *(f"{100 * each:.1f}%" for each in (reading.doubled, reading.repeating, reading.cut)),
            "" if reading.log_likelihood is None else f"{reading.log_likelihood:.2f}",
            end_section=last,
        )
    return grid


def training_table(results: Results) -> Table:
    further = ("best in validation", "at step", "steps", "minutes")
    grid = new_table("Training, with what a row started from", ["seeds", "spread", *further])
    for row, last in with_sections(results.rows):
        spread = row.with_dup.scores[results.main].spread
        chosen_by, more = row.runs[0].chosen_by, "" if row.is_whole else " +?"
        grid.add_row(
            name_of(row),
            " ".join(map(str, row.seeds)),
            "" if spread is None else shown(results.main, spread),
            Text(f"{title_of(chosen_by)} {shown(chosen_by, row.mean('best_score'))}"),
            f"{row.mean('best_step'):,.0f}",
            Text(f"{row.total('steps'):,.0f}{more}"),
            Text(f"{row.total('seconds') / 60:.1f}{more}"),
            end_section=last,
        )
    if any(row.extension for row in results.rows):
        grid.caption, grid.caption_justify = "* not a row of the paper's", "left"
    return grid


def sample_lines(sample: Sample) -> Text:
    """An example, and what every row wrote for it."""
    source = sample.source
    shortened = source if len(source) <= SOURCE_CHARACTERS else source[: SOURCE_CHARACTERS - 1] + "…"
    wide = max(map(len, ("reference", *sample.outputs)))
    lines = [f"{'reference':{wide}}  {text}" for text in sample.references]
    lines += [f"{label:{wide}}  {text}" for label, text in sample.outputs.items()]
    return Text(f"{sample.number}: {shortened}\n", style="dim").append("\n".join(lines) + "\n", style="not dim")
