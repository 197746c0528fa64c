"""Reproduction: every method of the paper on the same data with the same budget, by one command."""

from bangbang.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
