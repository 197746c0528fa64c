"""CIDEr and CIDEr-D (Vedantam et al. 2015) as coco-caption computes them.

With tf-idf vectors g_n over n-grams, n = 1..4, candidate c and references s_1..s_m:
    CIDEr_n   = 1/m Σ_j  g_n(c) · g_n(s_j) / (|g_n(c)| |g_n(s_j)|)
    CIDEr-D_n = 1/m Σ_j  exp(-(l(c) - l(s_j))² / 2σ²)  min(g_n(c), g_n(s_j)) · g_n(s_j) / (|g_n(c)| |g_n(s_j)|)
    score     = 10 · mean over n
As there: idf = log N - log max(1, df), N and df from the references of the scored set; l is the number of bigrams.

Shapes: N examples, T texts (candidates, then references), E entries of n-grams in references.

The n-grams of many captions are arrays: to count them for a whole corpus takes a few sorts and no loop.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bangbang.metrics.metric import Array

Integers = NDArray[np.int64]
ORDERS = 4


class Entries(NamedTuple):
    """Which n-grams of one order each text has, and how often; sorted by text, then n-gram.

    text, gram, times: [E]; text numbers candidates first, then references; gram numbers n-grams below `kinds`.
    """

    text: Integers
    gram: Integers
    times: Integers
    kinds: int

    def of_texts(self, first: int, last: int) -> "Entries":
        """The entries of the texts from `first` up to but without `last`."""
        low, high = np.searchsorted(self.text, [first, last])
        return Entries(self.text[low:high], self.gram[low:high], self.times[low:high], self.kinds)


class Captions:
    """Tokenised candidates and their references, as word lists in one row: all candidates, then all references.

    owner: the example each text belongs to.  [T]     lengths: its number of words.  [T]
    """

    def __init__(self, candidates: Sequence[str], references: Sequence[Sequence[str]]) -> None:
        self.examples = len(candidates)
        self._texts = [text.split() for text in candidates]
        self._texts += [text.split() for group in references for text in group]
        numbers = np.arange(self.examples)
        self.owner = np.concatenate([numbers, np.repeat(numbers, [len(group) for group in references])])
        self.lengths: Integers = np.array([len(text) for text in self._texts], dtype=np.int64)

    def entries(self) -> Iterator[Entries]:
        """The n-grams of one word, of two words, ... up to four."""
        number: dict[str, int] = {}
        words = np.array(
            [number.setdefault(word, len(number)) for text in self._texts for word in text], dtype=np.int64
        )
        text = np.repeat(np.arange(len(self._texts)), self.lengths)
        left = np.repeat(np.cumsum(self.lengths), self.lengths) - np.arange(len(words))  # words from here to text's end
        gram, kinds = words, len(number)  # of the n-gram that starts at each word
        for order in range(1, ORDERS + 1):
            starts = np.flatnonzero(left >= order)
            yield _counted(text[starts], gram[starts], kinds)
            if order < ORDERS:
                longer = np.flatnonzero(left > order)
                pairs, numbered = np.unique(gram[longer] * len(number) + words[longer + order], return_inverse=True)
                gram = np.zeros_like(words)
                gram[longer], kinds = numbered, len(pairs)


def _counted(text: Integers, gram: Integers, kinds: int) -> Entries:
    key, count = np.unique(text * kinds + gram, return_counts=True)
    divisor = max(1, kinds)  # without any n-gram there is nothing to divide
    return Entries(key // divisor, key % divisor, count, kinds)


def matched(wanted: Integers, keys: Integers, values: Array) -> Array:
    """values[i] where keys[i] is the wanted key, 0 where there is none; keys are sorted.  [E]"""
    if not len(keys):
        return np.zeros(len(wanted))
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, values[place], 0.0)


SIGMA = 6.0


def cider_scores(captions: Captions, entries: list[Entries]) -> tuple[Array, Array]:
    """CIDEr-D and CIDEr of every example.  [N], [N]"""
    examples, owner = captions.examples, captions.owner[captions.examples :]
    clipped = plain = np.zeros(len(owner))
    for grams in entries:
        clipped_cosine, cosine = _cosines(captions, grams)
        clipped, plain = clipped + clipped_cosine, plain + cosine
    bigrams = np.maximum(captions.lengths - 1, 0)
    clipped = clipped * np.exp(-((bigrams[owner] - bigrams[examples:]) ** 2) / (2 * SIGMA**2))
    references = np.bincount(owner, minlength=examples)
    clipped, plain = (
        10.0 * np.bincount(owner, weights=sums, minlength=examples) / (ORDERS * references) for sums in (clipped, plain)
    )
    return np.minimum(clipped, 10.0), np.minimum(plain, 10.0)  # rounding must not lift a perfect score above ten


def _cosines(captions: Captions, grams: Entries) -> tuple[Array, Array]:
    """Clipped and plain cosine between each reference and its candidate, for one order.  [T - N], [T - N]"""
    examples, owner, texts = captions.examples, captions.owner, len(captions.owner)
    weight = grams.times * _idf(captions, grams)[grams.gram]  # [all entries]
    norms = np.sqrt(np.bincount(grams.text, weights=weight**2, minlength=texts))  # [T]
    ours = slice(0, int(np.searchsorted(grams.text, examples)))
    theirs = slice(ours.stop, len(grams.text))
    our_weight, their_weight = (
        matched(
            owner[grams.text[theirs]] * grams.kinds + grams.gram[theirs],
            grams.text[ours] * grams.kinds + grams.gram[ours],
            weight[ours],
        ),
        weight[theirs],
    )
    scale = norms[owner[examples:]] * norms[examples:]
    reference = grams.text[theirs] - examples  # [E]

    def cosine(products: Array) -> Array:
        sums = np.bincount(reference, weights=products, minlength=texts - examples)
        return np.asarray(np.divide(sums, scale, out=np.zeros(len(sums)), where=scale > 0))

    return cosine(np.minimum(our_weight, their_weight) * their_weight), cosine(our_weight * their_weight)


def _idf(captions: Captions, grams: Entries) -> Array:
    """log N - log max(1, df) of each n-gram; df counts examples with the n-gram in some reference.  [K]"""
    theirs = grams.of_texts(captions.examples, len(captions.owner))
    seen = np.unique(captions.owner[theirs.text] * grams.kinds + theirs.gram)
    frequency = np.bincount(seen % max(1, grams.kinds), minlength=grams.kinds)
    return np.asarray(np.log(captions.examples) - np.log(np.maximum(1.0, frequency)))
