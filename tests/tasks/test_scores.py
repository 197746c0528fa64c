"""The scores of the two tasks, their baselines, and metrics that a config adds."""

from pathlib import Path

import numpy as np
import pytest

from bangbang import config as configs
from bangbang.config import Config
from bangbang.errors import InputError
from bangbang.metrics import CocoCaption, Rouge, SacreBleu, estimates
from bangbang.tasks import CaptionTask, HeadlineTask, quick, signature, task_of, title, with_errors
from bangbang.tasks.headlines import lead_words, mean_words
from bangbang.tasks.settings import Captions, Headlines
from bangbang.training import Run

HEADLINES, CAPTIONS = HeadlineTask(Headlines()), CaptionTask(Captions())
OUTPUTS = ["a dog runs on the beach", "two men play football"]
REFERENCES = [["A dog is running on the beach .", "The dog runs ."], ["Two men playing football .", "two people"]]


def test_lead_words() -> None:
    assert lead_words(["one two three", "one", ""], 2) == ["one two", "one", ""]


def test_the_baseline_is_as_long_as_the_mean_reference(tiny_run: Path) -> None:
    train = Run.open(tiny_run).corpus().split("train")
    assert mean_words(train) == 5
    assert HEADLINES.baselines(train, ["a b c d e f"]) == {"lead 5 words": ["a b c d e"]}
    assert CAPTIONS.baselines(train, ["photo.jpg"]) == {}


def test_scores_of_equal_and_of_different_texts() -> None:
    assert quick(HEADLINES.metric, ["a b c"], [["a b c"]]) == {"rouge-1": 100, "rouge-2": 100, "rouge-l": 100}
    assert quick(HEADLINES.metric, ["a b c"], [["d e f"]]) == {"rouge-1": 0, "rouge-2": 0, "rouge-l": 0}
    both = with_errors(HEADLINES.metric, ["a b c", "x"], [["a b c"], ["y"]])
    assert both["rouge-l"].value == pytest.approx(50)
    assert both["rouge-l"].standard_error == pytest.approx(100 * 0.5 / 2**0.5, rel=0.1)


def test_caption_scores_are_coco_captions_and_pyrouges() -> None:
    scores = quick(CAPTIONS.metric, OUTPUTS, REFERENCES)
    coco = CocoCaption().corpus(OUTPUTS, REFERENCES, None)
    assert tuple(scores) == CAPTIONS.metric.names == ("cider-d", "coco-rouge-l", "bleu-4", "rouge-l")
    assert scores["cider-d"] == coco["cider-d"].value > 0  # on its own scale
    assert scores["coco-rouge-l"] == 100 * coco["rouge-l"].value
    assert scores["bleu-4"] == 100 * coco["bleu-4"].value
    stemmed = Rouge(stem=True, multi="average", metrics=("rouge-l",)).corpus(OUTPUTS, REFERENCES, None)
    assert scores["rouge-l"] == 100 * stemmed["rouge-l"].f1.value
    assert with_errors(CAPTIONS.metric, OUTPUTS, REFERENCES)["cider-d"].standard_error is not None


def test_signatures_name_every_metric_and_the_resampling() -> None:
    assert signature(HEADLINES.metric).startswith("rouge|as:1.5.5|metrics:rouge-1,rouge-2,rouge-l|stem:no")
    assert "coco" in signature(CAPTIONS.metric) and "stem:porter" in signature(CAPTIONS.metric)
    for task in (HEADLINES, CAPTIONS):
        assert signature(task.metric).endswith("|bootstrap:1000|confidence:0.95|seed:1")


def test_kept_statistics_score_like_new_ones() -> None:
    """A report reads statistics that an earlier process kept: the metric has seen no text then."""
    kept = CAPTIONS.metric.statistics(OUTPUTS, REFERENCES)
    anew = CaptionTask(Captions()).metric
    found = [estimate.value for estimate in estimates(anew, kept, None)]
    assert found == list(quick(CAPTIONS.metric, OUTPUTS, REFERENCES).values())
    assert np.array_equal(anew.per_example(kept), CAPTIONS.metric.per_example(kept))


def test_a_config_adds_metrics_by_name() -> None:
    config = configs.override(Config(), ['task.metrics=["bleu", "chrf"]', "training.metric=chrf"])
    task = task_of(config)
    assert task.metric.names == ("rouge-1", "rouge-2", "rouge-l", "bleu", "chrf")
    scores = quick(task.metric, OUTPUTS, REFERENCES)
    for name in ("bleu", "chrf"):
        alone = SacreBleu(name)  # type: ignore[arg-type]
        assert scores[name] == estimates(alone, alone.statistics(OUTPUTS, REFERENCES), None)[0].value
    assert scores["rouge-l"] == quick(HEADLINES.metric, OUTPUTS, REFERENCES)["rouge-l"]
    assert (title("chrf"), title("something new")) == ("chrF", "something new")
    with pytest.raises(InputError, match=r"task\.metrics: 'blue' is not one of .* did you mean 'bleu'"):
        task_of(configs.override(Config(), ['task.metrics=["blue"]']))


def test_the_metric_that_training_watches_must_be_one_that_is_scored() -> None:
    images = ["model.kind=show_and_tell", "model.layers=1"]
    assert isinstance(task_of(configs.override(Config(), [*images, "training.metric=bleu-4"])), CaptionTask)
    assert isinstance(task_of(Config()), HeadlineTask)
    for settings in ([*images, "training.metric=rouge-2"], ["training.metric=cider-d"]):
        with pytest.raises(InputError, match=r"training\.metric"):
            task_of(configs.override(Config(), settings))
