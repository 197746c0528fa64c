"""ROUGE against ROUGE-1.5.5.pl itself: every row of the reference scores."""

import json

import pytest

from bangbang.metrics import Resampling, Rouge
from tests.metrics.oracle_files import ORACLES, needs_oracles, rows

NAMES = {
    "R1": "rouge-1", "R2": "rouge-2", "R3": "rouge-3", "R4": "rouge-4", "RL": "rouge-l", "RW1.2": "rouge-w-1.2",
    "RS*": "rouge-s", "RSU*": "rouge-su",
}  # fmt: skip
SETS = {
    "m": {"stem": True},
    "nostem": {},
    "b75": {"max_bytes": 75},
    "b75_m": {"max_bytes": 75, "stem": True},
    "best": {"multi": "best"},
    "best_m": {"multi": "best", "stem": True},
}
ROUNDING = 1e-9


@needs_oracles
@pytest.mark.parametrize("name", SETS)
def test_every_row_agrees_with_perl(name):
    rouge = Rouge(metrics=tuple(NAMES.values()), **SETS[name])
    checked = 0
    for row in rows("rouge155.jsonl"):
        scores = rouge.score(row["candidate"], row["references"])
        for perl_name, (recall, precision, f1) in row["scores"][name].items():
            ours = scores[NAMES[perl_name]]
            where = (row["id"], perl_name)
            if perl_name in row["counts"][name]:
                assert [*ours[3:]] == row["counts"][name][perl_name], where
            assert abs(ours.recall - recall) <= 0.5e-5 + ROUNDING, where
            assert abs(ours.precision - precision) <= 0.5e-5 + ROUNDING, where
            assert abs(ours.f1 - f1) <= 1.5e-5, where
            checked += 1
    assert checked > 5000


@needs_oracles
@pytest.mark.parametrize("name", SETS)
def test_corpus_means_and_standard_errors_agree_with_perl(name):
    corpus = json.loads((ORACLES / "rouge155_corpus.json").read_text())
    by_id = {row["id"]: row for row in rows("rouge155.jsonl")}
    texts = [by_id[identity] for identity in corpus["ids"]]
    rouge = Rouge(metrics=tuple(NAMES.values()), **SETS[name])
    scores = rouge.corpus([row["candidate"] for row in texts], [row["references"] for row in texts])
    for perl_name, ours in NAMES.items():
        for index, part in enumerate(("recall", "precision", "f1")):
            estimate = getattr(scores[ours], part)
            assert estimate.value == pytest.approx(corpus["plain_mean"][name][perl_name][index], abs=1e-6)
            perl_error = corpus["bootstrap_se"][name][perl_name][index]
            assert estimate.standard_error == pytest.approx(perl_error, rel=0.10)
            # what Perl prints is a mean of 1,000 resampled means: off the mean by chance, by se / √1000 at a time
            printed = corpus["averages"][name][perl_name][part[0]][0]
            assert abs(estimate.value - printed) < 3 * perl_error / 1000**0.5


def test_skipping_the_bootstrap_gives_the_same_means():
    rouge = Rouge()
    texts = ["a red bus", "two dogs run", "nothing"], [["the red bus stops"], ["dogs run"], ["something"]]
    with_bars, without = rouge.corpus(*texts, Resampling(50)), rouge.corpus(*texts, resampling=None)
    assert with_bars["rouge-l"].f1.value == without["rouge-l"].f1.value
    assert without["rouge-l"].f1.standard_error is None
