"""The scores that training watches and `bangbang evaluate` reports: ROUGE-1.5.5 F1 × 100 against all references."""

from collections.abc import Sequence

from bangbang.metrics.bootstrap import Estimate, Resampling
from bangbang.metrics.rouge import Rouge

METRICS = ("rouge-1", "rouge-2", "rouge-l")
RESAMPLING = Resampling()


def quick_scores(outputs: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, float]:
    """Mean scores without error bars: what a validation during training needs."""
    estimates = Rouge(metrics=METRICS).corpus(outputs, references, resampling=None)
    return {metric: 100 * estimate.f1.value for metric, estimate in estimates.items()}


def with_errors(outputs: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, Estimate]:
    """Mean scores with bootstrap standard errors and intervals."""
    estimates = Rouge(metrics=METRICS).corpus(outputs, references, RESAMPLING)
    return {metric: percent(estimate.f1) for metric, estimate in estimates.items()}


def percent(estimate: Estimate) -> Estimate:
    value, *bars = estimate
    return Estimate(100 * value, *(None if bar is None else 100 * bar for bar in bars))


def signature() -> str:
    """What the scores of `with_errors` are, exactly."""
    return f"{Rouge(metrics=METRICS).signature}|{RESAMPLING.signature}"
