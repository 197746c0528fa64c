"""The answer in words follows the numbers."""

from dataclasses import replace
from pathlib import Path

import pytest

from bangbang.reporting import Results
from bangbang.reporting.history import Before
from bangbang.reporting.results import Best, Difference, Row, Side
from bangbang.reporting.rows import best_decoder
from bangbang.reporting.verdict import contestants, picks, verdict

Reported = tuple[Results, Path]


def with_scores(
    results: Results, values: dict[str, float], p: float, validation: dict[str, float] | None = None
) -> Results:
    """Rows of these scores, in validation the same or others, greedily, with every difference of this p."""

    def side(label: str, side: Side) -> Side:
        value = values[label]
        score = replace(side.scores["rouge-l"], value=value, standard_error=0.25)
        against = {
            other: {"rouge-l": Difference(value - values[other], 0.2, value - values[other] - 1, 9.0, p, p)}
            for other in results.baselines
            if other != label
        }
        return replace(side, scores={"rouge-l": score}, against=against)

    def row_of(row: Row) -> Row:
        best = (validation or values)[row.label]
        runs = [replace(run, best_score=best) for run in row.runs]
        found = side(row.label, row.with_dup)
        return replace(row, with_dup=found, decoded={"greedy": found}, runs=runs)

    return replace(results, decoders=["greedy"], rows=[row_of(row) for row in results.rows if row.label in values])


def test_a_row_that_kept_the_winners_weights_is_no_rival(reported: Reported) -> None:
    """Policy gradient from MLE may leave the weights that it starts with the best."""
    results = with_scores(reported[0], {"MLE": 30.0, "RAML": 29.0, "SPG 0.2": 28.0, "SPG 0.6": 30.0}, 0.2)
    same = {"MLE": {"rouge-l": Difference(0.0, 0.0, 0.0, 0.0, 1.0, 1.0)}}
    rows = [
        replace(row, family="PG", with_dup=replace(row.with_dup, against=same)) if row.label == "SPG 0.6" else row
        for row in results.rows
    ]
    assert verdict(replace(results, rows=rows)).headline == "MLE leads SPG 0.2 by 2.00 ROUGE-L, which may be chance"


@pytest.mark.parametrize(
    ("values", "p", "headline"),
    [
        (
            {"MLE": 30.0, "RAML": 31.0, "SPG 0.2": 32.5, "SPG 0.6": 33.25},
            0.001,
            "SPG 0.6 wins: +3.25 ROUGE-L over MLE, +2.25 over RAML",
        ),
        (
            {"MLE": 30.0, "RAML": 31.0, "SPG 0.2": 32.5},
            0.3,
            "SPG 0.2 leads, not surely: +2.50 ROUGE-L over MLE, +1.50 over RAML",
        ),
        ({"MLE": 30.0, "RAML": 29.0, "SPG 0.2": 28.0}, 0.001, "MLE wins: SPG 0.2 stays 2.00 ROUGE-L behind"),
        (
            {"MLE": 30.0, "RAML": 29.0, "SPG 0.2": 28.0},
            0.2,
            "MLE leads SPG 0.2 by 2.00 ROUGE-L, which may be chance",
        ),
    ],
)
def test_headlines(reported: Reported, values: dict[str, float], p: float, headline: str) -> None:
    assert verdict(with_scores(reported[0], values, p)).headline == headline


def test_one_row(reported: Reported) -> None:
    results = with_scores(replace(reported[0], baselines=["MLE"]), {"MLE": 30.0}, 0.5)
    assert verdict(results).headline == "MLE reaches 30.00 ROUGE-L"


def test_how_sure_and_what_validation_says(reported: Reported) -> None:
    values = {"MLE": 30.0, "RAML": 31.0, "SPG 0.2": 32.5, "SPG 0.6": 33.25}
    results = with_scores(reported[0], values, 0.002)
    text = " ".join(verdict(results).sentences)
    assert "On 30 test examples SPG 0.6 has 33.25 ± 0.25 ROUGE-L" in text
    assert "3.25 more than MLE’s 30.00, with 95% confidence between +2.25 and +9.00 (p = 0.002)" in text
    assert "chance does not explain it" in text
    assert "Of the SPG rows validation picks SPG 0.6." in text
    assert "chance hardly" in " ".join(verdict(with_scores(reported[0], values, 0.04)).sentences)


def test_a_p_value_at_the_floor_is_a_bound(reported: Reported) -> None:
    values = {"MLE": 30.0, "RAML": 31.0, "SPG 0.2": 32.5}
    told = verdict(with_scores(reported[0], values, 1 / (1 + reported[0].resamples)))
    assert sum("(p ≤ 0.001)" in sentence for sentence in told.sentences) == 2
    assert [about for _, about in told.figures[1:3]] == ["over MLE, p ≤ 0.001", "over RAML, p ≤ 0.001"]
    assert "p = 0.001" not in str(told) and "p < 0.001" not in str(told)
    behind = verdict(with_scores(reported[0], {**values, "MLE": 40.0, "RAML": 39.0}, 1 / 1001))
    assert "SPG 0.2, has 32.50: −7.50, p ≤ 0.001; chance does not explain it." in " ".join(behind.sentences)


def test_no_test_score_chooses_among_spg_rows(reported: Reported) -> None:
    values = {"MLE": 30.0, "RAML": 31.0, "SPG 0.2": 32.5, "SPG 0.6": 33.25}
    results = with_scores(reported[0], values, 0.002, validation={**values, "SPG 0.2": 40.0})
    told = verdict(results)
    assert told.headline == "SPG 0.2 wins: +2.50 ROUGE-L over MLE, +1.50 over RAML"
    assert "validation picks SPG 0.2; the best of them on the test is SPG 0.6, with 33.25." in " ".join(told.sentences)


@pytest.mark.parametrize(
    ("values", "headline", "sentence"),
    [
        (
            {"MLE": 15.0, "RAML": 16.0, "SPG 0.2": 13.5},
            "SPG 0.2 wins: −1.50 ROUGE-L over MLE, −2.50 over RAML",
            "1.50 less",
        ),
        ({"MLE": 15.0, "RAML": 16.0, "SPG 0.2": 17.0}, "MLE wins: SPG 0.2 stays 2.00 ROUGE-L behind", "1.00 less"),
    ],
)
def test_less_may_be_better(reported: Reported, values: dict[str, float], headline: str, sentence: str) -> None:
    results = replace(with_scores(reported[0], values, 0.001), less=["rouge-l"])
    told = verdict(results)
    assert told.headline == headline
    assert f"That is {sentence} than" in " ".join(told.sentences)


def test_validation_picks_a_decoder_and_a_row_by_the_direction_of_the_score(reported: Reported) -> None:
    side = reported[0].rows[0].with_dup
    sides = {"greedy": replace(side, validation=12.0), "beam": replace(side, validation=11.0)}
    assert best_decoder(sides) == "greedy" and best_decoder(sides, -1.0) == "beam"
    values = {"MLE": 30.0, "RAML": 29.0, "SPG 0.2": 28.0, "SPG 0.6": 31.0}
    results = with_scores(reported[0], values, 0.2)
    assert picks(results)["SPG"].label == "SPG 0.6"
    assert picks(replace(results, less=["rouge-l"]))["SPG"].label == "SPG 0.2"


def with_best(results: Results, label: str, value: float, p: float) -> Results:
    """The same by two decoders, of which beams are the best of every row; a difference of this value and p to MLE."""

    def row_of(row: Row) -> Row:
        found = {"MLE": {"rouge-l": Difference(value, 0.2, value - 1, value + 1, p, p)}}
        beam = replace(row.with_dup, decoding="beam 9", scores={"rouge-l": row.with_dup.scores["rouge-l"]})
        against = found if row.label == label else {}
        return replace(row, best=Best("beam", against), decoded={"greedy": row.with_dup, "beam": beam})

    return replace(results, decoders=["greedy", "beam"], rows=list(map(row_of, results.rows)))


@pytest.mark.parametrize(("value", "p", "verb"), [(1.25, 0.001, "wins"), (1.25, 0.2, "leads"), (-1.25, 0.001, "leads")])
def test_a_gain_that_a_better_decoder_gives_the_baseline_is_no_victory(
    reported: Reported, value: float, p: float, verb: str
) -> None:
    values = {"MLE": 30.0, "RAML": 31.0, "SPG 0.2": 32.5}
    told = verdict(with_best(with_scores(reported[0], values, 0.001), "SPG 0.2", value, p))
    sign = "+" if value > 0 else "−"
    assert told.headline.startswith(f"SPG 0.2 {verb}")
    assert told.headline.endswith(f"+1.50 over RAML, {sign}1.25 over MLE where each has its best decoder")
    text = " ".join(told.sentences)
    assert f"SPG 0.2 has 32.50 by beam 9 and MLE has 30.00 by beam 9: {sign}1.25, with 95% confidence" in text
    assert ("over MLE, each by its best decoder" in told.figures[3][1]) and told.figures[3][0] == f"{sign}1.25"


def test_by_best_decoders_the_nearest_baseline_counts(reported: Reported) -> None:
    results = with_best(with_scores(reported[0], {"MLE": 30.0, "RAML": 31.0, "SPG 0.2": 32.5}, 0.001), "", 0, 1)
    found = {"MLE": Difference(3.0, 0.2, 2, 4, 0.001, 0.001), "RAML": Difference(0.3, 0.2, -1, 1, 0.4, 0.4)}
    against = {label: {"rouge-l": difference} for label, difference in found.items()}
    rows = [replace(row, best=Best("beam", against)) if row.label == "SPG 0.2" else row for row in results.rows]
    told = verdict(replace(results, rows=rows))
    assert told.headline.startswith("SPG 0.2 leads, not surely")
    assert told.headline.endswith("+0.30 over RAML where each has its best decoder")
    assert "RAML has 31.00 by beam 9: +0.30" in " ".join(told.sentences)


def test_seeds_steps_and_minutes_are_told(reported: Reported) -> None:
    results = with_scores(replace(reported[0], baselines=["MLE"]), {"MLE": 30.0, "SPG 0.2": 32.5}, 0.001)
    mle, spg = results.rows
    runs = [replace(mle.runs[0], seed=seed, scores={"rouge-l": value}) for seed, value in ((1, 30.0), (2, 33.0))]
    ours = [
        replace(spg.runs[0], seed=seed, scores={"rouge-l": value}, steps=200, seconds=120.0, before=Before(100, 60.0))
        for seed, value in ((1, 32.0), (2, 32.5), (3, 9.0))
    ]
    rows = [replace(mle, runs=runs), replace(spg, runs=ours)]
    text = " ".join(verdict(replace(results, rows=rows)).sentences)
    assert "Seed by seed it is ahead of MLE in 1 of 2: +2.00, −0.50." in text
    assert "SPG 0.2 took 300 steps and 3.0 minutes; MLE took 36 steps" in text
    gone = [replace(run, before=None) for run in ours]
    text = " ".join(verdict(replace(results, rows=[rows[0], replace(spg, runs=gone)])).sentences)
    assert "SPG 0.2 took 200 steps and 2.0 minutes and what it started from, which is gone;" in text


def test_of_every_family_one_row_may_win(reported: Reported) -> None:
    """That which validation picks; baselines stand for themselves."""
    values = {"MLE": 30.0, "RAML": 31.0, "SPG 0.2": 35.0, "SPG 0.6": 33.0, "SPG 0.2 + Length": 34.0}
    results = with_scores(reported[0], values, 0.001, validation={**values, "SPG 0.2": 1.0, "SPG 0.6": 2.0})
    families = {"SPG 0.2": "PG", "SPG 0.6": "PG", "MLE": "PG"}
    rows = [replace(row, family=families.get(row.label, row.family)) for row in results.rows]
    results = replace(results, rows=rows)
    assert [row.label for row in contestants(results)] == ["MLE", "RAML", "SPG 0.6", "SPG 0.2 + Length"]
    told = verdict(results)
    assert told.headline.startswith("SPG 0.2 + Length wins")
    assert (
        "Of the PG rows validation picks SPG 0.6; the best of them on the test is SPG 0.2, with 35.00."
        in told.sentences
    )
