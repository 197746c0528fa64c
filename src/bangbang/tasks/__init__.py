"""Tasks: what headlines, captions, transductions and translations differ in. Nothing else asks what the sources are."""

from bangbang.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
