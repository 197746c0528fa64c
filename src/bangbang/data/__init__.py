"""Prepared corpora: the vocabulary, memory-mapped splits, batches.

`prepare(config.data, config.vocabulary)` gives a `Corpus`; `corpus.split("train")` a `Split`; `batches(split, ...)` the
example numbers of each step; and `split.batch(numbers)` the tensors to train on.
"""

from bangbang.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
