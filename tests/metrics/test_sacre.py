"""Our wrapper of sacrebleu against sacrebleu's own entry points."""

import pytest
import sacrebleu

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
