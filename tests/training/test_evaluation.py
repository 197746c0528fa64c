"""Decoding a split, the baseline beside it, and the scores."""

from pathlib import Path

import pytest

from bangbang.training import Run
from bangbang.training.evaluation import decode_split, headline_words, lead_words
from bangbang.training.scoring import quick_scores, with_errors


def test_lead_words() -> None:
    assert lead_words(["one two three", "one", ""], 2) == ["one two", "one", ""]


def test_headline_words_is_the_mean_length(tiny_run: Path) -> None:
    assert headline_words(Run.open(tiny_run).corpus().split("train")) == 5


def test_scores_of_equal_and_of_different_texts() -> None:
    assert quick_scores(["a b c"], [["a b c"]]) == {"rouge-1": 100, "rouge-2": 100, "rouge-l": 100}
    assert quick_scores(["a b c"], [["d e f"]]) == {"rouge-1": 0, "rouge-2": 0, "rouge-l": 0}
    both = with_errors(["a b c", "x"], [["a b c"], ["y"]])
    assert both["rouge-l"].value == pytest.approx(50)
    assert both["rouge-l"].standard_error == pytest.approx(100 * 0.5 / 2**0.5, rel=0.1)


def test_outputs_are_in_the_order_of_the_split(tiny_run: Path) -> None:
    run = Run.open(tiny_run)
    split = run.corpus().split("test")
    whole = decode_split(run.load_model(), run.vocabulary, split, run.config.decoding, 30, 15)
    part = decode_split(run.load_model(), run.vocabulary, split, run.config.decoding, 30, 15, limit=3)
    assert len(whole.outputs) == len(split) and whole.outputs[:3] == part.outputs
    assert quick_scores(whole.outputs, whole.references)["rouge-1"] > 40
