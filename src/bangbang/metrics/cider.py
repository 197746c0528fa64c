"""CIDEr and CIDEr-D (Vedantam et al. 2015) as coco-caption computes them.

With tf-idf vectors g_n over n-grams, n = 1..4, candidate c and references s_1..s_m:
    CIDEr_n   = 1/m Σ_j  g_n(c) · g_n(s_j) / (|g_n(c)| |g_n(s_j)|)
    CIDEr-D_n = 1/m Σ_j  exp(-(l(c) - l(s_j))² / 2σ²)  min(g_n(c), g_n(s_j)) · g_n(s_j) / (|g_n(c)| |g_n(s_j)|)
    score     = 10 · mean over n
As there: idf = log N - log max(1, df), N and df from the references of the scored set; l is the number of bigrams.

Shapes: N examples, T texts (candidates, then references), E entries of n-grams in references.
"""

import numpy as np

from bangbang.metrics.caption_grams import ORDERS, Captions, Entries, matched
from bangbang.metrics.metric import Array

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
