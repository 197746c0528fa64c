"""The picture of the learning curves."""

import re
from dataclasses import replace
from pathlib import Path

from bangbang.reporting.curves import COLOURS, curves, mean_curve, minutes, stage_starts
from bangbang.reporting.history import Before
from bangbang.reporting.results import Point, Results, StageStart

Reported = tuple[Results, Path]


def test_every_row_is_named_and_the_same_results_give_the_same_file(reported: Reported) -> None:
    results = reported[0]
    drawing = curves(results)
    assert drawing == curves(results)
    for row in results.rows:
        assert row.label in drawing
    for axis in ("validation ROUGE-L", "training steps", "minutes of training", "test ROUGE-L"):
        assert axis in drawing


def test_seeds_are_averaged_where_all_validated(reported: Reported) -> None:
    row = reported[0].rows[0]
    points = [[(10, 1.0), (20, 2.0)], [(10, 3.0), (30, 9.0)]]
    runs = [
        replace(row.runs[0], validations=[Point(step, 1.0, {"rouge-l": value}) for step, value in each])
        for each in points
    ]
    assert mean_curve(replace(row, runs=runs), "rouge-l") == ([10], [2.0])


def test_a_name_is_drawn_as_it_is_written(reported: Reported) -> None:
    results = reported[0]
    names = ["$\\frac{$", "half \ud800", "_hidden", "$x^2$"]
    for name in names:
        row = results.rows[0]
        stages = [StageStart(5, 1.0, name)]
        runs = [replace(run, stages=stages) for run in row.runs]
        drawing = curves(replace(results, rows=[replace(row, label=name, runs=runs)]))
        shown = name.replace("\ud800", "?")
        assert drawing.encode() and drawing.count(shown) >= 7  # a legend in each panel, and a stage but on the test


def test_what_a_row_started_from_comes_before_it(reported: Reported) -> None:
    row = reported[0].rows[0]
    points = [Point(10, 60.0, {"rouge-l": 1.0}), Point(20, 120.0, {"rouge-l": 2.0})]
    stages = [StageStart(0, 0.0, "MLE"), StageStart(15, 90.0, "PG")]
    runs = [
        replace(row.runs[0], validations=points, stages=stages, before=before) for before in (Before(100, 60.0), None)
    ]
    assert mean_curve(replace(row, runs=runs[:1]), "rouge-l") == ([110, 120], [1.0, 2.0])
    assert mean_curve(replace(row, runs=runs[:1]), "rouge-l", by_time=True) == ([2.0, 3.0], [1.0, 2.0])
    assert mean_curve(replace(row, runs=runs[1:]), "rouge-l", by_time=True) == ([1.0, 2.0], [1.0, 2.0])
    assert stage_starts([replace(row, runs=runs[:1])]) == {115: "PG"}
    assert stage_starts([replace(row, runs=runs[:1])], by_time=True) == {2.5: "PG"}


def test_all_rows_by_minutes_the_best_first(reported: Reported) -> None:
    results = reported[0]
    drawing = minutes(results)
    assert drawing == minutes(results) and "minutes of training" in drawing
    by_score = sorted(results.rows, key=lambda row: -row.with_dup.scores[results.main].value)
    places = [drawing.index(f"  {row.label}</text>") for row in by_score]
    assert places == sorted(places) and len(set(places)) == len(results.rows)
    assert f"{by_score[0].with_dup.scores[results.main].value:.2f} ±" in drawing


def test_more_rows_than_colours_can_be_told_apart(reported: Reported) -> None:
    results = reported[0]
    many = [replace(results.rows[0], label=f"row {number}") for number in range(2 * len(COLOURS))]
    drawing = minutes(replace(results, rows=many))
    styles = {}
    for number in range(len(many)):  # a row's marks stand in the legend, just before its name
        before = drawing[: drawing.index(f"  row {number}</text>")]
        mark = before[before.rindex("<use ") :]
        styles[number] = re.sub(r' [xy]="[^"]*"', "", mark[: mark.index("/>")])
    assert len(set(styles.values())) == len(many)
