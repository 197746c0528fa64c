"""The caption scores of coco-caption (pycocoevalcap 1.2), without Java: BLEU-1..4, ROUGE-L, CIDEr-D and CIDEr."""

from collections.abc import Sequence

import numpy as np

from bangbang import __version__
from bangbang.metrics import lcs
from bangbang.metrics.cider import ORDERS, Captions, Entries, Integers, cider_scores, matched
from bangbang.metrics.metric import Array, check_aligned
from bangbang.metrics.ptb import tokenize
from bangbang.metrics.significance import Estimate, Resampling, estimates

BETA = 1.2  # recall weighs β² times precision in ROUGE-L
_TINY, _SMALL = 1e-15, 1e-9  # coco-caption's guards against zero counts and empty captions
_LENGTHS = slice(2 * ORDERS, 2 * ORDERS + 2)


class CocoCaption:
    """Captions against any number of references each; document frequencies come from the references scored.

    tokenized: the texts are PTB tokens in lower case already.
    """

    names = (*(f"bleu-{order}" for order in range(1, ORDERS + 1)), "rouge-l", "cider-d", "cider")
    of_all_examples = frozenset({"cider-d", "cider"})
    """Scores of an example that depend on the other examples, by their document frequencies."""

    def __init__(self, tokenized: bool = False) -> None:
        self.tokenized = tokenized

    @property
    def signature(self) -> str:
        tokens = "given" if self.tokenized else "ptb-3.4.1"
        return (
            f"coco|as:pycocoevalcap-1.2|tokens:{tokens}|bleu:closest|rouge-l:beta-{BETA}"
            f"|cider:sigma-6,df-scored-set,x10|bangbang:{__version__}"
        )

    def corpus(
        self,
        candidates: Sequence[str],
        references: Sequence[Sequence[str]],
        resampling: Resampling | None = Resampling(),  # noqa: B008 - immutable
    ) -> dict[str, Estimate]:
        """Corpus scores with bootstrap error bars; `resampling=None` skips those."""
        return dict(zip(self.names, estimates(self, self.statistics(candidates, references), resampling), strict=True))

    def statistics(self, candidates: Sequence[str], references: Sequence[Sequence[str]]) -> Array:
        """BLEU's hits and totals by order and its two lengths; ROUGE-L, CIDEr-D and CIDEr.  [N, 13]"""
        check_aligned(candidates, references)
        ours, theirs = self._tokens(candidates, references)
        captions = Captions(ours, theirs)
        entries = list(captions.entries())
        lcs_scores = [rouge_l(candidate, texts) for candidate, texts in zip(ours, theirs, strict=True)]
        return np.column_stack([bleu_counts(captions, entries), lcs_scores, *cider_scores(captions, entries)])

    def aggregate(self, sums: Array, count: int) -> Array:
        return np.concatenate([_bleu(sums), sums[..., 2 * ORDERS + 2 :] / count], axis=-1)

    def per_example(self, statistics: Array) -> Array:
        return self.aggregate(statistics, 1)

    def words(self, text: str) -> list[str]:
        """The words that n-grams are made of."""
        return (text if self.tokenized else tokenize([text])[0]).split()

    def _tokens(
        self, candidates: Sequence[str], references: Sequence[Sequence[str]]
    ) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        if self.tokenized:
            return candidates, references
        flat = iter(tokenize([text for texts in references for text in texts]))
        return tokenize(candidates), [[next(flat) for _ in texts] for texts in references]


def bleu_counts(captions: Captions, entries: list[Entries]) -> Array:
    """Clipped n-gram hits (4), n-grams (4), the candidate's length and the closest reference length.  [N, 10]"""
    lengths = captions.lengths[: captions.examples]
    hits = [_clipped_hits(captions, grams) for grams in entries]
    totals = [np.maximum(0, lengths - order) for order in range(ORDERS)]
    return np.stack([*hits, *totals, lengths, _closest_lengths(captions)], axis=1)


def _clipped_hits(captions: Captions, grams: Entries) -> Array:
    """How many of a candidate's n-grams hit: each at most as often as the reference that has most of it.  [N]"""
    ours = grams.of_texts(0, captions.examples)
    theirs = grams.of_texts(captions.examples, len(captions.owner))
    key = captions.owner[theirs.text] * grams.kinds + theirs.gram
    order = np.argsort(key, kind="stable")
    kept, first = np.unique(key[order], return_index=True)
    most = np.maximum.reduceat(theirs.times[order], first) if len(first) else theirs.times
    hits = np.minimum(ours.times, matched(ours.text * grams.kinds + ours.gram, kept, most.astype(np.float64)))
    return np.bincount(ours.text, weights=hits, minlength=captions.examples).astype(np.float64)


def _closest_lengths(captions: Captions) -> Integers:
    """The length of the reference nearest in length to each candidate, the shorter of two.  [N]"""
    owner, lengths = captions.owner[captions.examples :], captions.lengths[captions.examples :]
    distance = np.abs(lengths - captions.lengths[owner])
    order = np.lexsort((lengths, distance, owner))
    return lengths[order[np.searchsorted(owner[order], np.arange(captions.examples))]]


def _bleu(sums: Array) -> Array:
    """BLEU-k = brevity · (Π_{n<=k} hits_n / total_n)^(1/k), with coco-caption's guards.  [..., 13] -> [..., 4]"""
    precisions = (sums[..., :ORDERS] + _TINY) / (sums[..., ORDERS : 2 * ORDERS] + _SMALL)
    scores = np.cumprod(precisions, axis=-1) ** (1 / np.arange(1, ORDERS + 1))
    lengths = sums[..., _LENGTHS]
    ratio = (lengths[..., :1] + _TINY) / (lengths[..., 1:] + _SMALL)
    # an empty candidate has ratio ~ 0: exp(-1/ratio) is 0, not an overflow
    brevity = np.exp(np.minimum(0.0, 1 - 1 / np.maximum(ratio, _TINY)))
    return np.asarray(scores * brevity)


def rouge_l(candidate: str, references: Sequence[str]) -> float:
    """F_β of the largest LCS precision and the largest LCS recall, each over all references.

    Texts are split at single blanks only, so an empty text is one empty token, as in coco-caption.
    """
    ours = candidate.split(" ")
    precision = recall = 0.0
    for text in references:
        theirs = text.split(" ")
        common = lcs.length(ours, theirs)
        precision, recall = max(precision, common / len(ours)), max(recall, common / len(theirs))
    if not precision:
        return 0.0
    return (1 + BETA**2) * precision * recall / (recall + BETA**2 * precision)
