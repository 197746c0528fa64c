"""Explanation: what a run's objective does to one example, for a person to look at."""

from bangbang.explanation.subject import Subject
from bangbang.explanation.targets import Targets, draw_targets
from bangbang.explanation.trace import Trace, trace

__all__ = ["Subject", "Targets", "Trace", "draw_targets", "trace"]
