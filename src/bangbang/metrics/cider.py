"""CIDEr and CIDEr-D (Vedantam et al. 2015) as coco-caption computes them.

With tf-idf vectors g_n over n-grams, n = 1..4, candidate c and references s_1..s_m:
    CIDEr_n   = 1/m Σ_j  g_n(c) · g_n(s_j) / (|g_n(c)| |g_n(s_j)|)
    CIDEr-D_n = 1/m Σ_j  exp(-(l(c) - l(s_j))² / 2σ²)  min(g_n(c), g_n(s_j)) · g_n(s_j) / (|g_n(c)| |g_n(s_j)|)
    score     = 10 · mean over n
As there: idf = log N - log max(1, df), N and df from the references of the scored set; l is the number of bigrams.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

ORDERS = 4
SIGMA = 6.0
Gram = tuple[str, ...]


class Vector(NamedTuple):
    """A text's tf-idf weights and Euclidean norms by order, and its number of bigrams."""

    weights: list[dict[Gram, float]]
    norms: list[float]
    bigrams: int


def gram_counts(words: Sequence[str]) -> list[dict[Gram, int]]:
    """The n-grams of a text with their numbers, by order."""
    shifted = [words[start:] for start in range(ORDERS)]
    counts: list[dict[Gram, int]] = []
    for order in range(1, ORDERS + 1):
        found: dict[Gram, int] = {}
        for gram in zip(*shifted[:order], strict=False):
            found[gram] = found.get(gram, 0) + 1
        counts.append(found)
    return counts


def document_frequency(references: Iterable[Sequence[list[dict[Gram, int]]]]) -> Counter[Gram]:
    """In how many examples' references each n-gram occurs."""
    frequency: Counter[Gram] = Counter()
    for texts in references:
        if len(texts) == 1:
            for grams in texts[0]:
                frequency.update(grams.keys())
        else:
            frequency.update({gram for text in texts for grams in text for gram in grams})
    return frequency


def cider_scores(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> list[tuple[float, float]]:
    """(CIDEr-D, CIDEr) of every example; texts are tokenised, with blanks between tokens."""
    our_counts = [gram_counts(text.split()) for text in candidates]
    their_counts = [[gram_counts(text.split()) for text in texts] for texts in references]
    log_examples = math.log(len(references))
    idf = {gram: log_examples - math.log(df) for gram, df in document_frequency(their_counts).items()}
    scores = []
    for ours, theirs in zip(our_counts, their_counts, strict=True):
        vector = _vector(ours, idf, log_examples)
        pairs = [_similarity(vector, _vector(text, idf, log_examples)) for text in theirs]
        # rounding must not lift a perfect score above ten
        clipped, plain = (min(10.0, 10.0 * sum(column) / len(pairs)) for column in zip(*pairs, strict=True))
        scores.append((clipped, plain))
    return scores


def _vector(counts: list[dict[Gram, int]], idf: dict[Gram, float], unseen: float) -> Vector:
    weights = [{gram: count * idf.get(gram, unseen) for gram, count in grams.items()} for grams in counts]
    norms = [math.sqrt(sum([weight * weight for weight in grams.values()])) for grams in weights]
    return Vector(weights, norms, sum(counts[1].values()))


def _similarity(ours: Vector, theirs: Vector) -> tuple[float, float]:
    """Means over orders: clipped with the length penalty (CIDEr-D), and the plain cosine (CIDEr)."""
    clipped = plain = 0.0
    for our, their, our_norm, their_norm in zip(
        ours.weights, theirs.weights, ours.norms, theirs.norms, strict=True
    ):
        if not our_norm or not their_norm:
            continue
        products = our_clipped = 0.0
        for gram, weight in our.items():
            reference_weight = their.get(gram)
            if reference_weight is not None:
                products += weight * reference_weight
                our_clipped += min(weight, reference_weight) * reference_weight
        plain += products / (our_norm * their_norm)
        clipped += our_clipped / (our_norm * their_norm)
    penalty = math.exp(-((ours.bigrams - theirs.bigrams) ** 2) / (2 * SIGMA**2))
    return clipped * penalty / ORDERS, plain / ORDERS
