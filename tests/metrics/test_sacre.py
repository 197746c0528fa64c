"""Our wrapper of sacrebleu against sacrebleu's own entry points."""

import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from bangbang.metrics import Resampling, SacreBleu, estimates

CANDIDATES = ["The cat sat on the mat.", "Dogs run in a park", "", "one two"]
REFERENCES = [["The cat is on the mat.", "A cat sat there."], ["Dogs run in the park"], ["nothing"], ["one two three"]]
DOCUMENTS = [[texts[0] for texts in REFERENCES], [texts[1] if len(texts) > 1 else None for texts in REFERENCES]]


@pytest.mark.parametrize(
    ("name", "theirs"), [("bleu", sacrebleu.BLEU), ("chrf", sacrebleu.CHRF), ("ter", sacrebleu.TER)]
)
def test_corpus_score_and_signature_are_sacrebleus(name, theirs):
    metric, peer = SacreBleu(name), theirs()
    (estimate,) = estimates(metric, metric.statistics(CANDIDATES, REFERENCES), None)
    assert estimate.value == pytest.approx(peer.corpus_score(CANDIDATES, DOCUMENTS).score, abs=1e-12)
    assert metric.signature == f"{name}|{peer.get_signature().format()}"


def test_sentence_bleu_uses_the_effective_order():
    metric = SacreBleu("bleu")
    scores = metric.per_example(metric.statistics(CANDIDATES, REFERENCES))[:, 0]
    peer = sacrebleu.BLEU(effective_order=True)
    expected = [peer.sentence_score(ours, theirs).score for ours, theirs in zip(CANDIDATES, REFERENCES, strict=True)]
    assert scores == pytest.approx(expected)


def test_error_bars_come_from_resampled_statistics():
    metric = SacreBleu("bleu")
    (estimate,) = estimates(metric, metric.statistics(CANDIDATES, REFERENCES), Resampling(200))
    assert estimate.standard_error > 0
    assert estimate.low <= estimate.value <= estimate.high


@given(st.lists(st.lists(st.integers(0, 40), min_size=18, max_size=18), min_size=1, max_size=5))
def test_chrf_of_many_sums_is_sacrebleus_of_each(counts: list[list[int]]) -> None:
    """Also where an order has no n-gram on one side, or none that match."""
    sums = np.array(
        [
            [min(value, *row[place - 2 : place]) if place % 3 == 2 else value for place, value in enumerate(row)]
            for row in counts
        ],
        dtype=float,
    )
    theirs = sacrebleu.CHRF()
    expected = [theirs._compute_score_from_stats(row).score for row in sums.tolist()]
    assert SacreBleu("chrf").aggregate(sums, 9)[:, 0] == pytest.approx(expected, abs=1e-10)
