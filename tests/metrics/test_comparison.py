"""Significance of a difference: against enumeration, and on systems known equal or unequal."""

from itertools import product

import numpy as np
import pytest

from bangbang.errors import InputError
from bangbang.metrics import Resampling, Rouge, SacreBleu, compare

REFERENCES = [[f"w{i} x{i % 5} y{i % 7} z"] for i in range(60)]
GOOD = [texts[0] for texts in REFERENCES]
BAD = [text.replace("z", "q").replace("x", "p") if i % 2 else text for i, text in enumerate(GOOD)]
ROUGE = Rouge(metrics=("rouge-1", "rouge-l"))


def test_a_clear_difference_is_significant_and_its_interval_excludes_zero():
    score = compare(ROUGE, GOOD, BAD, REFERENCES).scores["rouge-l.f1"]
    assert score.difference.value == pytest.approx(score.a.value - score.b.value)
    assert 0 < score.difference.low < score.difference.value < score.difference.high
    assert score.p_bootstrap < 0.01
    assert score.p_randomisation < 0.01


def test_a_system_does_not_differ_from_itself():
    comparison = compare(ROUGE, BAD, BAD, REFERENCES, Resampling(100))
    for score in comparison.scores.values():
        assert score.difference == (0, 0, 0, 0)
        assert score.p_bootstrap == score.p_randomisation == 1.0
    assert comparison.moved_most("rouge-l.f1", 5) == []


def test_swapping_the_systems_mirrors_the_difference():
    one = compare(ROUGE, GOOD, BAD, REFERENCES).scores["rouge-1.f1"]
    other = compare(ROUGE, BAD, GOOD, REFERENCES).scores["rouge-1.f1"]
    assert one.difference.value == pytest.approx(-other.difference.value)
    assert one.difference.low == pytest.approx(-other.difference.high)
    assert one.p_bootstrap == other.p_bootstrap


def test_randomisation_agrees_with_all_swaps_enumerated():
    references = REFERENCES[:8]
    a, b = [GOOD[i] if i in (0, 2, 5) else BAD[i] for i in range(8)], [BAD[i] if i % 3 else GOOD[i] for i in range(8)]
    metric = Rouge(metrics=("rouge-1",))
    score = compare(metric, a, b, references, Resampling(20_000)).scores["rouge-1.f1"]
    ours, theirs = (metric.statistics(texts, references)[:, 2] for texts in (a, b))
    swaps = [np.mean(np.array(signs) * (ours - theirs)) for signs in product((1, -1), repeat=8)]
    exact = np.mean(np.abs(swaps) >= abs(np.mean(ours - theirs)) - 1e-12)
    assert score.p_randomisation == pytest.approx(exact, abs=0.015)


def test_no_difference_in_truth_is_rarely_significant():
    generator = np.random.default_rng(5)
    p_values = []
    for _ in range(60):
        flips = generator.random((2, 60)) < 0.5
        a, b = ([GOOD[i] if flip else BAD[i] for i, flip in enumerate(row)] for row in flips)
        score = compare(Rouge(metrics=("rouge-1",)), a, b, REFERENCES, Resampling(200)).scores["rouge-1.f1"]
        p_values.append((score.p_bootstrap, score.p_randomisation))
    rates = (np.array(p_values) < 0.05).mean(axis=0)
    assert (rates < 0.15).all()


def test_the_examples_that_moved_most_come_first():
    a = [*GOOD[:3], "nothing", *GOOD[4:]]
    moved = compare(ROUGE, a, GOOD, REFERENCES, Resampling(10)).moved_most("rouge-1.f1", 3)
    assert moved == [(3, -1.0)]


def test_corpus_metrics_compare_too():
    score = compare(SacreBleu("chrf"), GOOD, BAD, REFERENCES, Resampling(200)).scores["chrf"]
    assert score.a.value == pytest.approx(100)
    assert score.p_randomisation < 0.02


def test_systems_of_unequal_length_are_refused():
    with pytest.raises(InputError, match="differ in length"):
        compare(ROUGE, GOOD, GOOD[:-1], REFERENCES)
