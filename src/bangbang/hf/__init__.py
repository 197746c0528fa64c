"""Generators of the transformers library behind our contracts: `Policy`, and what loads, checks and exports them."""

from bangbang.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
