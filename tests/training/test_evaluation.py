"""Decoding a split, the baseline beside it, and the scores."""

from pathlib import Path

import pytest
from bangbang.training.scoring import CAPTIONS, HEADLINES, scorer_for

from bangbang import config as configs
from bangbang.config import Config
from bangbang.errors import InputError
from bangbang.metrics import CocoCaption, Rouge
from bangbang.training import Run
from bangbang.training.evaluation import decode_split, headline_words, lead_words


def test_lead_words() -> None:
    assert lead_words(["one two three", "one", ""], 2) == ["one two", "one", ""]


def test_headline_words_is_the_mean_length(tiny_run: Path) -> None:
    assert headline_words(Run.open(tiny_run).corpus().split("train")) == 5


def test_scores_of_equal_and_of_different_texts() -> None:
    assert HEADLINES.quick(["a b c"], [["a b c"]]) == {"rouge-1": 100, "rouge-2": 100, "rouge-l": 100}
    assert HEADLINES.quick(["a b c"], [["d e f"]]) == {"rouge-1": 0, "rouge-2": 0, "rouge-l": 0}
    both = HEADLINES.with_errors(["a b c", "x"], [["a b c"], ["y"]])
    assert both["rouge-l"].value == pytest.approx(50)
    assert both["rouge-l"].standard_error == pytest.approx(100 * 0.5 / 2**0.5, rel=0.1)


def test_caption_scores_are_coco_captions_and_pyrouges() -> None:
    outputs = ["a dog runs on the beach", "two men play football"]
    references = [["A dog is running on the beach .", "The dog runs ."], ["Two men playing football .", "two people"]]
    scores = CAPTIONS.quick(outputs, references)
    coco = CocoCaption().corpus(outputs, references, None)
    assert tuple(scores) == CAPTIONS.names == ("cider-d", "coco-rouge-l", "bleu-4", "rouge-l")
    assert scores["cider-d"] == coco["cider-d"].value > 0  # on its own scale
    assert scores["coco-rouge-l"] == 100 * coco["rouge-l"].value
    assert scores["bleu-4"] == 100 * coco["bleu-4"].value
    stemmed = Rouge(stem=True, multi="average", metrics=("rouge-l",)).corpus(outputs, references, None)
    assert scores["rouge-l"] == 100 * stemmed["rouge-l"].f1.value
    assert CAPTIONS.with_errors(outputs, references)["cider-d"].standard_error is not None


def test_the_metric_that_training_watches_must_be_one_that_is_scored() -> None:
    images = ["model.kind=show_and_tell", "model.layers=1"]
    assert scorer_for(configs.override(Config(), [*images, "training.metric=cider-d"])) is CAPTIONS
    assert scorer_for(Config()) is HEADLINES
    for settings in ([*images, "training.metric=rouge-2"], ["training.metric=cider-d"]):
        with pytest.raises(InputError, match=r"training\.metric"):
            scorer_for(configs.override(Config(), settings))


def test_outputs_are_in_the_order_of_the_split(tiny_run: Path) -> None:
    run = Run.open(tiny_run)
    split = run.corpus().split("test")
    whole = decode_split(run.load_model(), run.vocabulary, split, run.config.decoding, 30, 15)
    part = decode_split(run.load_model(), run.vocabulary, split, run.config.decoding, 30, 15, limit=3)
    assert len(whole.outputs) == len(split) and whole.outputs[:3] == part.outputs
    assert HEADLINES.quick(whole.outputs, whole.references)["rouge-1"] > 40
