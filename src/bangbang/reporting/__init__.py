"""Reporting: runs side by side on the test split, with error bars, significance, and a page to look at."""

from bangbang.reporting.evaluation import Evaluation, LabelledRun, evaluate
from bangbang.reporting.report import report
from bangbang.reporting.results import Results
from bangbang.reporting.terminal import table

__all__ = ["Evaluation", "LabelledRun", "Results", "evaluate", "report", "table"]
