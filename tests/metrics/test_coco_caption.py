"""Caption scores against pycocoevalcap 1.2: on captions of our own, and on all reference rows."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bangbang.metrics import CocoCaption
from tests.metrics.oracle_files import ORACLES, fixture, needs_oracles, rows

OURS = fixture("captions.json")
THEIR_NAMES = {
    "bleu-1": "Bleu_1", "bleu-2": "Bleu_2", "bleu-3": "Bleu_3", "bleu-4": "Bleu_4", "rouge-l": "ROUGE_L",
    "cider-d": "CIDEr_D", "cider": "CIDEr",
}  # fmt: skip
WORDS = st.lists(st.sampled_from(["a", "man", "dog", "runs", "red"]), max_size=7).map(" ".join)


def per_image(candidates, references, tokenized=False):
    metric = CocoCaption(tokenized)
    table = metric.per_example(metric.statistics(candidates, references))
    return [dict(zip(metric.names, row, strict=True)) for row in table.tolist()]


def test_our_captions_score_as_in_pycocoevalcap():
    examples = OURS["examples"]
    texts = [example["candidate"] for example in examples], [example["references"] for example in examples]
    for example, scores in zip(examples, per_image(*texts), strict=True):
        for name, expected in example["scores"].items():
            assert scores[name] == pytest.approx(expected, abs=1e-12), (example["candidate"], name)
    corpus = CocoCaption().corpus(*texts, resampling=None)
    for name, expected in OURS["corpus"].items():
        assert corpus[name].value == pytest.approx(expected, abs=1e-12), name


@needs_oracles
def test_every_image_scores_as_in_pycocoevalcap():
    images = rows("coco_caption.jsonl")
    scores = per_image([image["candidate"] for image in images], [image["references"] for image in images])
    for image, ours in zip(images, scores, strict=True):
        for name, their_name in THEIR_NAMES.items():
            assert ours[name] == pytest.approx(image[their_name], abs=1e-6), (image["image_id"], name)


@needs_oracles
def test_the_corpus_scores_as_in_pycocoevalcap():
    images, totals = rows("coco_caption.jsonl"), json.loads((ORACLES / "coco_caption_totals.json").read_text())
    corpus = CocoCaption().corpus([i["candidate"] for i in images], [i["references"] for i in images])
    expected = [*totals["Bleu"], totals["ROUGE_L"], totals["CIDEr_D"], totals["CIDEr_plain"]]
    assert [estimate.value for estimate in corpus.values()] == pytest.approx(expected, abs=1e-9)


def literal_cider_d(candidates, references):
    """The two equations, n-gram by n-gram."""

    def grams(text, n):
        words = text.split()
        return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]

    def weights(text, n):
        found = {}
        for gram in grams(text, n):
            df = sum(any(gram in grams(other, n) for other in group) for group in references)
            found[gram] = found.get(gram, 0.0) + math.log(len(references)) - math.log(max(1, df))
        return found

    scores = []
    for candidate, group in zip(candidates, references, strict=True):
        total = 0.0
        for reference in group:
            penalty = math.exp(-((len(grams(candidate, 2)) - len(grams(reference, 2))) ** 2) / 72)
            for n in range(1, 5):
                ours, theirs = weights(candidate, n), weights(reference, n)
                scale = math.hypot(*ours.values()) * math.hypot(*theirs.values())
                if scale:
                    total += penalty * sum(min(w, theirs.get(g, 0)) * theirs.get(g, 0) for g, w in ours.items()) / scale
        scores.append(10 * total / 4 / len(group))
    return scores


@settings(max_examples=60, derandomize=True, deadline=None)
@given(st.lists(st.tuples(WORDS, st.lists(WORDS, min_size=1, max_size=3)), min_size=1, max_size=4))
def test_cider_d_equals_its_equation_and_stays_in_range(examples):
    candidates, references = [list(column) for column in zip(*examples, strict=True)]
    scores = per_image(candidates, references, tokenized=True)
    assert [score["cider-d"] for score in scores] == pytest.approx(literal_cider_d(candidates, references), abs=1e-9)
    for score in scores:
        assert 0 <= score["cider-d"] <= 10
        assert 0 <= score["cider"] <= 10
        assert all(0 <= value <= 1 for name, value in score.items() if not name.startswith("cider"))


@settings(max_examples=40, derandomize=True, deadline=None)
@given(st.lists(st.tuples(st.text(max_size=30), st.lists(st.text(max_size=30), min_size=1)), min_size=1, max_size=3))
def test_any_unicode_scores_within_range(examples):
    candidates, references = [list(column) for column in zip(*examples, strict=True)]
    table = CocoCaption().per_example(CocoCaption().statistics(candidates, references))
    assert np.isfinite(table).all()
    assert (table >= 0).all()
    assert (table[:, :5] <= 1).all()
    assert (table[:, 5:] <= 10).all()
