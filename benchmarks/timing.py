"""Interleaved timing: what is compared is measured turn by turn, so that a noisy machine disturbs all alike."""

import statistics
import time
from collections.abc import Callable, Mapping


def medians(contenders: Mapping[str, Callable[[], object]], repeats: int, warmup: int = 2) -> dict[str, float]:
    """Median seconds of each contender over `repeats` rounds in which each runs once."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(warmup + repeats):
        for name, code in contenders.items():
            began = time.perf_counter()
            code()
            if turn >= warmup:
                times[name].append(time.perf_counter() - began)
    return {name: statistics.median(each) for name, each in times.items()}
