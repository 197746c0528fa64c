"""What outputs read like, by numbers that training does not see: repeats, cuts, likelihood under another model.

A metric can be raised by texts that nobody would write. These numbers show that where the metric does not.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from bangbang.reporting.evaluation import Outputs
from bangbang.reporting.likelihood import Likelihood
from bangbang.reporting.results import Reading


def mean_words(texts: Sequence[str]) -> float:
    """1/N Σ_n |words of text n|; 0 of no texts."""
    return sum(len(text.split()) for text in texts) / max(1, len(texts))


def share(marks: Iterable[bool]) -> float:
    """How many of the marks are true, between 0 and 1; 0 of none."""
    found = list(marks)
    return sum(found) / max(1, len(found))


def is_doubled(text: str) -> bool:
    """Whether a word follows itself."""
    return any(one == other for one, other in pairwise(text.split()))


def is_repeating(text: str) -> bool:
    """Whether two neighbouring words come twice, in that order."""
    pairs = list(pairwise(text.split()))
    return len(set(pairs)) < len(pairs)


def mean_log_likelihood(found: Sequence[Likelihood | None]) -> float | None:
    """Σ log p / Σ tokens of all outputs; None where some have no likelihood."""
    known = [each for each in found if each is not None]
    tokens = sum(each.tokens for each in known)
    return sum(each.log_prob for each in known) / tokens if tokens and len(known) == len(found) else None


def reading_of(outputs: Sequence[Outputs], likelihoods: Sequence[Likelihood | None] = ()) -> Reading:
    """Of the outputs of all seeds of a row together."""
    texts = [text for each in outputs for text in each.texts]
    return Reading(
        doubled=share(map(is_doubled, texts)),
        repeating=share(map(is_repeating, texts)),
        cut=share(mark for each in outputs for mark in each.cut),
        log_likelihood=mean_log_likelihood(likelihoods),
    )
