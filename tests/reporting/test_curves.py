"""The picture of the learning curves."""

from dataclasses import replace
from pathlib import Path

from bangbang.reporting.curves import curves, mean_curve
from bangbang.reporting.results import Point, Results, StageStart

Reported = tuple[Results, Path]


def test_every_row_is_named_and_the_same_results_give_the_same_file(reported: Reported) -> None:
    results = reported[0]
    drawing = curves(results)
    assert drawing == curves(results)
    for row in results.rows:
        assert row.label in drawing
    assert "validation ROUGE-L" in drawing and "training steps" in drawing


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
        assert drawing.encode() and drawing.count(shown) >= 4  # a legend and a stage in each panel
