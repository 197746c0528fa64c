"""Decoding: greedy, beam, sampling and minimum Bayes risk, with the test-time reward W·DUP."""

from bangbang.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
