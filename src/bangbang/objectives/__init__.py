"""Objectives: propose a target sequence, then raise its log-likelihood. Methods differ in the proposal alone."""

from bangbang.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
