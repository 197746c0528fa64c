"""The n-grams of many captions as arrays, so that counting them for a whole corpus takes a few sorts and no loop.

Shapes: N examples, T texts, E entries (a text and one n-gram in it), K kinds of n-gram.
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
