"""Which examples the page shows: a fair choice, and never more than it can hold."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bangbang.config import Config
from bangbang.data.blanks import Blanks
from bangbang.data.settings import Words
from bangbang.data.spelling import Spelling
from bangbang.data.trained import TrainedVocabulary
from bangbang.reporting import Evaluation, LabelledRun, examples
from bangbang.reporting.evaluation import outputs_of
from bangbang.reporting.examples import browser_record, dup_record, evenly, telling
from bangbang.reporting.rows import Group
from bangbang.tasks import HeadlineTask
from bangbang.tasks.settings import Headlines

METRIC = HeadlineTask(Headlines()).metric
REFERENCES = [["quick brown fox"], ["lazy dog"], ["red hen house"], ["old cat"]]
BEFORE = ["quick quick brown", "lazy dog", "red red red", "cat cat"]
AFTER = ["quick brown fox", "lazy dog", "red", "cat"]


def evaluation(with_dup: list[str], without_dup: list[str]) -> Evaluation:
    sides = [outputs_of(METRIC, texts, METRIC.statistics(texts, REFERENCES)) for texts in (with_dup, without_dup)]
    run = LabelledRun(Path("run"), "row")
    return Evaluation(run, "step-1", "corpus", ["source " * 99] * 4, REFERENCES, *sides)


def test_what_dup_changed() -> None:
    one, other = evaluation(AFTER, BEFORE), evaluation(BEFORE, BEFORE)
    (record,) = dup_record([Group("row", [one, other], [Config()] * 2)], METRIC, "rouge-l")
    assert (record["outputs"], record["changed"]) == (8, 3)
    assert (record["better"], record["worse"]) == (3, 0)  # "red" has a better precision than "red red red"
    assert record["examples"][0]["number"] == 1
    gains = [change["gain"] for change in record["examples"]]
    assert gains == sorted(gains, reverse=True)


@given(st.integers(0, 60), st.integers(2, 12))
def test_an_even_choice_has_both_ends(length: int, count: int) -> None:
    chosen = evenly(range(length), count)
    assert len(chosen) == min(length, count) and chosen == sorted(set(chosen))
    assert not chosen or (chosen[0], chosen[-1]) == (0, length - 1)


@given(st.integers(1, 4), st.integers(1, 12), st.integers(0, 9))
def test_every_example_is_told_once_and_the_largest_difference_first(labels: int, count: int, seed: int) -> None:
    scores = np.random.default_rng(seed).random((labels, count))
    order = list(telling(scores))
    assert sorted(order) == list(range(count))
    if labels > 1:
        assert order[0] == np.argmax(scores[0] - scores[1])


def test_examples_are_shown_as_people_write_and_scored_as_they_are() -> None:
    vocabulary = TrainedVocabulary.train(AFTER, Words())
    spelling = Spelling(vocabulary, True, {"fox": "FOX"}, {}, Blanks({}))
    plain = evaluation(AFTER, BEFORE)
    records = [
        browser_record([Group("row", [each], [Config()])], METRIC, "rouge-l")["examples"]
        for each in (plain, plain._replace(spell=spelling.written))
    ]
    assert [sorted(text for each in record for text in each["outputs"]) for record in records] == [
        ["cat", "lazy dog", "quick brown fox", "red"],
        ["Cat", "Lazy dog", "Quick brown FOX", "Red"],
    ]
    assert [each["scores"] for each in records[0]] == [each["scores"] for each in records[1]]


def test_the_page_takes_no_more_than_it_can_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = [Group(label, [evaluation(texts, texts)], [Config()]) for label, texts in (("a", AFTER), ("b", BEFORE))]
    whole = browser_record(groups, METRIC, "rouge-l")
    assert len(whole["examples"]) == whole["total"] == 4
    assert all(len(each["source"]) <= 400 for each in whole["examples"])
    assert whole["examples"][0]["number"] == 1 and whole["examples"][0]["scores"][0] == 100
    monkeypatch.setattr(examples, "BROWSER_BYTES", 800)
    some = browser_record(groups, METRIC, "rouge-l")
    assert 0 < len(some["examples"]) < 4 == some["total"] and len(json.dumps(some["examples"])) < 2000
