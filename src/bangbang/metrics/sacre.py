"""BLEU, chrF and TER by sacrebleu, with its options and its signature; scores run from 0 to 100 as there."""

from collections.abc import Sequence
from functools import partial
from itertools import zip_longest
from typing import Any, Literal

import numpy as np

from bangbang.metrics.metric import Array, check_aligned


class SacreBleu:
    """One of sacrebleu's corpus metrics with its defaults; BLEU's tokenizer may be another of its.

    sacrebleu itself compares systems by the two methods used here (`_extract_corpus_statistics` and
    `_compute_score_from_stats`); it has no public ones that keep statistics apart from scores.
    """

    def __init__(self, metric: Literal["bleu", "chrf", "ter"], tokenizer: str = "13a") -> None:
        from sacrebleu.metrics.bleu import BLEU
        from sacrebleu.metrics.chrf import CHRF
        from sacrebleu.metrics.ter import TER

        makers: dict[str, Any] = {"bleu": partial(BLEU, tokenize=tokenizer), "chrf": CHRF, "ter": TER}
        self.names = (metric,)
        self.lower_is_better = frozenset({"ter"} & {metric})
        self._metric = makers[metric]()
        # a sentence shorter than four words has no 4-gram: sacrebleu's sentence BLEU then stops at its longest order
        self._sentence_metric = BLEU(tokenize=tokenizer, effective_order=True) if metric == "bleu" else self._metric
        self._metric.num_refs = "unscored"  # sacrebleu sets the number when it sees references

    @property
    def signature(self) -> str:
        return f"{self.names[0]}|{self._metric.get_signature().format()}"

    def words(self, text: str) -> list[str]:
        """The words that n-grams of BLEU are made of; for the other metrics, what is between blanks."""
        cut = self._metric.tokenizer(text.rstrip()) if self.names == ("bleu",) else text
        return str(cut).split()

    def statistics(self, candidates: Sequence[str], references: Sequence[Sequence[str]]) -> Array:
        check_aligned(candidates, references)
        # sacrebleu takes documents of references, with None where an example has fewer than others
        documents = [list(document) for document in zip_longest(*references)]
        return np.array(self._metric._extract_corpus_statistics(list(candidates), documents), dtype=np.float64)

    def aggregate(self, sums: Array, count: int) -> Array:
        if self.names == ("chrf",):  # whose thousands of resamples are worth an array
            return chrf(sums, self._metric.beta)[..., None]
        return _scores(self._metric, sums)

    def per_example(self, statistics: Array) -> Array:
        return _scores(self._sentence_metric, statistics)


def chrf(sums: Array, beta: float) -> Array:
    """(1 + β²)·P·R / (β²·P + R) × 100, where P and R are means over the orders that both sides have.

    `sums` are, of each order, the n-grams of the candidates, of the references, and of both.  [..., 3·orders] -> [...]
    """
    candidate, reference, both = np.moveaxis(sums.reshape(*sums.shape[:-1], -1, 3), -1, 0)  # [..., orders]
    counted = (candidate > 0) & (reference > 0)
    orders = np.maximum(1, counted.sum(-1))
    precision, recall = (
        np.divide(both, each, out=np.zeros_like(both), where=counted).sum(-1) / orders
        for each in (candidate, reference)
    )
    weighed = beta**2 * precision + recall
    return np.asarray(100 * (1 + beta**2) * precision * recall / np.where(weighed > 0, weighed, 1.0))


def _scores(metric: Any, sums: Array) -> Array:
    """[..., S] -> [..., 1]"""
    rows = sums.reshape(-1, sums.shape[-1])
    scores = [metric._compute_score_from_stats(row.tolist()).score for row in rows]
    return np.array(scores, dtype=np.float64).reshape(*sums.shape[:-1], 1)
