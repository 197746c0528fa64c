"""Training: the loop, checkpoints, the run folder, evaluation."""

from bangbang.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
