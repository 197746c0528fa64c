"""Significance of a difference: against enumeration, and on systems known equal or unequal."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bangbang.errors import InputError
from bangbang.metrics import Resampling, Rouge, SacreBleu, compare, significance
from bangbang.metrics.significance import compare_statistics, p_text, resampled_sums

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


@pytest.mark.parametrize(
    ("p", "resamples", "text"),
    [
        (1 / 1001, 1000, "≤ 0.001"),
        (2 / 1001, 1000, "= 0.002"),
        (1 / 201, 200, "≤ 0.005"),
        (1 / 10_001, 10_000, "≤ 0.0001"),
        (2 / 10_001, 10_000, "< 0.001"),
        (0.0214, 1000, "= 0.021"),
        (0.7351, 1000, "= 0.74"),
        (1.0, 2, "= 1.00"),
    ],
)
def test_a_p_value_at_the_floor_is_a_bound(p, resamples, text):
    assert p_text(p, resamples) == text


@given(st.integers(2, 10**7))
def test_the_bound_holds_and_is_close(resamples):
    relation, bound = p_text(1 / (1 + resamples), resamples).split()
    assert relation == "≤" and 1 <= float(bound) * (1 + resamples) < 1.1


class Corpus:
    """A ratio of sums, as BLEU's precisions are, and a mean."""

    names = ("ratio", "mean")
    signature = "corpus"

    def aggregate(self, sums, count):
        return np.stack([sums[..., 0] / sums[..., 1], sums[..., 2] / count], axis=-1)

    def per_example(self, statistics):
        return self.aggregate(statistics, 1)


def literal_scores(seeds, examples):
    """The mean over seeds of each one's ratio, and of each one's mean, on a list of examples; one number at a time."""
    ratios, means = [], []
    for seed in seeds:
        ratios.append(sum(seed[n][0] for n in examples) / sum(seed[n][1] for n in examples))
        means.append(sum(seed[n][2] for n in examples) / len(examples))
    return [sum(ratios) / len(seeds), sum(means) / len(seeds)]


def literal_swaps(a, b, signs):
    """The difference of both scores once the examples where `signs` is -1 have changed sides, in all seeds."""
    turns = [(a[k % len(a)], b[k % len(b)]) for k in range(len(a) * len(b))]
    ours = [[x[n] if sign > 0 else y[n] for n, sign in enumerate(signs)] for x, y in turns]
    theirs = [[y[n] if sign > 0 else x[n] for n, sign in enumerate(signs)] for x, y in turns]
    everything = range(len(signs))
    return np.subtract(literal_scores(ours, everything), literal_scores(theirs, everything))


def systems(a, b, examples, seed=0):
    """Two systems of `a` and of `b` seeds.  [K, N, 3] each"""
    generator = np.random.default_rng(seed)
    level = generator.uniform(1, 9, (examples, 3))
    return [level * generator.uniform(0.5, 1.5, (count, examples, 3)) for count in (a, b)]


@pytest.mark.parametrize("numbers", [(1, 1), (3, 3), (2, 3), (2, 4), (1, 3)], ids=str)
def test_seeds_are_scored_apart_and_resampled_together(numbers):
    """Against loops over seeds and drawn examples: scores, their error bars, the difference's, and its bootstrap p."""
    a, b = systems(*numbers, examples=9)
    resampling = Resampling(60)
    compared = compare_statistics(Corpus(), a, b, resampling)
    counts = resampled_sums(np.eye(9), resampling).astype(int)
    drawn = [[n for n in range(9) for _ in range(row[n])] for row in counts]
    scores = {side: literal_scores(seeds, range(9)) for side, seeds in (("a", a), ("b", b))}
    again = {side: np.array([literal_scores(seeds, each) for each in drawn]) for side, seeds in (("a", a), ("b", b))}
    for place, score in enumerate(compared.scores.values()):
        observed = scores["a"][place] - scores["b"][place]
        under = {side: rows[:, place] for side, rows in again.items()}
        under["d"] = under["a"] - under["b"]
        for bars, value, side in (
            (score.a, scores["a"][place], "a"),
            (score.b, scores["b"][place], "b"),
            (score.difference, observed, "d"),
        ):
            spread = np.std(under[side], ddof=1)
            assert bars == pytest.approx([value, spread, *np.quantile(under[side], [0.025, 0.975])])
        assert score.difference.value == score.a.value - score.b.value
        hits = sum(abs(d - under["d"].mean()) >= abs(observed) - 1e-12 for d in under["d"])
        assert score.p_bootstrap == pytest.approx((1 + hits) / 61)


@pytest.mark.parametrize("numbers", [(1, 1), (3, 3), (2, 3), (2, 4), (1, 3)], ids=str)
def test_seeds_are_swapped_together(numbers):
    """Against all swaps of eight examples, one after the other."""
    a, b = systems(*numbers, examples=8, seed=3)
    compared = compare_statistics(Corpus(), a, b, Resampling(20_000))
    swapped = np.abs([literal_swaps(a, b, signs) for signs in product((1, -1), repeat=8)])
    for place, score in enumerate(compared.scores.values()):
        exact = np.mean(swapped[:, place] >= abs(score.difference.value) - 1e-12)
        assert 0.02 < exact < 0.98
        assert score.p_randomisation == pytest.approx(exact, abs=0.012)
    (coins,) = significance._coins(8, Resampling(50))
    literal = [literal_swaps(a, b, 2 * row - 1) for row in coins]
    assert significance._swapped_differences(Corpus(), a, b, Resampling(50)) == pytest.approx(np.array(literal))


@given(st.integers(1, 4), st.integers(1, 4), st.integers(2, 12), st.integers(0, 99))
def test_a_mean_over_examples_is_tested_on_each_examples_mean_over_seeds(ours, theirs, examples, seed):
    a, b = systems(ours, theirs, examples, seed)
    score = compare_statistics(Corpus(), a, b, Resampling(40)).scores["mean"]
    averaged = compare_statistics(Corpus(), a.mean(axis=0), b.mean(axis=0), Resampling(40)).scores["mean"]
    assert score.difference == pytest.approx(averaged.difference, abs=1e-12)
    assert (score.p_bootstrap, score.p_randomisation) == (averaged.p_bootstrap, averaged.p_randomisation)


@given(st.integers(1, 4), st.integers(1, 4), st.integers(2, 12), st.integers(0, 99))
def test_the_second_system_mirrors_the_first(ours, theirs, examples, seed):
    a, b = systems(ours, theirs, examples, seed)
    there, back = (compare_statistics(Corpus(), *pair, Resampling(40)).scores["ratio"] for pair in ((a, b), (b, a)))
    assert there.difference.value == -back.difference.value
    assert there.p_randomisation == back.p_randomisation
    one, other = (compare_statistics(Corpus(), *pair, Resampling(40)).differences for pair in ((a, b), (b, a)))
    assert one == pytest.approx(-other)


def test_a_seed_more_that_says_the_same_changes_nothing():
    a, b = systems(1, 1, examples=20)
    once, twice = (compare_statistics(Corpus(), each, b, Resampling(100)).scores for each in (a, np.repeat(a, 2, 0)))
    for name, score in once.items():
        assert twice[name].difference == pytest.approx(score.difference)
        assert twice[name].p_randomisation == score.p_randomisation
