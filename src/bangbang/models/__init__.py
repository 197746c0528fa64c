"""Models: `encode` an input, `step` over tokens, a `head` over the vocabulary; the rest has defaults."""

from bangbang.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
