"""Corpora of (text, short text) pairs: reading, splitting by family, the vocabulary, memory-mapped splits, batches.

`prepare(config.data, config.vocabulary)` gives a `Corpus`; `corpus.split("train")` a `Split`; `batches(split, ...)` the
example numbers of each step; and `split.batch(numbers)` the tensors to train on.
"""

from bangbang.data.batches import batches
from bangbang.data.corpus import Corpus
from bangbang.data.pairs import Pair
from bangbang.data.preparation import prepare
from bangbang.data.split import Batch, Split, spread
from bangbang.data.vocabulary import Vocabulary

__all__ = ["Batch", "Corpus", "Pair", "Split", "Vocabulary", "batches", "prepare", "spread"]
