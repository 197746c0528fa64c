"""Training: the loop, checkpoints, the run folder, evaluation."""

from bangbang.training.loop import Outcome, train
from bangbang.training.run import Run

__all__ = ["Outcome", "Run", "train"]
