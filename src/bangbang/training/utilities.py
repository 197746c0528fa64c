"""What minimum Bayes risk takes for right, by name: a reward, which is fast, or a score of any metric.

A reward compares token ids, many pairs at once. A metric compares texts, a pair at a time in Python: some ten thousand
pairs a second, where a line of 32 different samples has 1,024.

Shapes: C candidates and R references of a line.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from bangbang import registry
from bangbang.data import Split
from bangbang.decoding import Contest, RewardUtility, Utility
from bangbang.decoding.settings import DecodingSettings
from bangbang.errors import InputError
from bangbang.metrics import Metric
from bangbang.metrics.metric import lower_is_better
from bangbang.metrics.settings import MetricSettings
from bangbang.rewards.settings import RewardSettings
from bangbang.training.learner import reward_inputs
from bangbang.training.run import Run


def settled(run: Run, decoding: DecodingSettings) -> DecodingSettings:
    """The settings with the name of the utility filled in: the task's main score, unless they name another."""
    if decoding.method != "mbr" or decoding.utility:
        return decoding
    return replace(decoding, utility=run.task.main)


def run_utility(run: Run, decoding: DecodingSettings, train: Callable[[], Split] | None = None) -> Utility | None:
    """The utility of a run's minimum Bayes risk; None where another method decodes.

    `train` gives the training split, for the rewards that count n-grams of it; it is the run's own if left out.
    """
    if decoding.method != "mbr":
        return None
    name = settled(run, decoding).utility
    if registry.has("rewards", name):
        train = train or (lambda: run.corpus().split("train"))
        return RewardUtility(reward_settings(run, name).main(reward_inputs(run, train)), name)
    for metric in metrics(run, name):
        if score := next((score for score in (name, f"{name}.f1") if score in metric.names), None):
            return MetricUtility(metric, score, run.vocabulary.decode)
    known = ", ".join([*registry.names("rewards"), *run.task.metric.names])
    raise InputError(f"decoding.utility = {name[:80]!r} is no reward and no score of a metric; choose one of {known}")


def reward_settings(run: Run, name: str) -> RewardSettings:
    """A reward as the run is trained by it, at last; with its defaults where the run is trained by another."""
    own = run.config.legs[-1].reward
    if own.kind == name:
        return own
    kind = registry.find("rewards", name, "decoding.utility")
    assert issubclass(kind, RewardSettings)
    return kind()


def metrics(run: Run, name: str) -> Iterator[Metric]:
    """Where a score may be found: among the task's, then in a metric of that name, then in all of ours."""
    yield run.task.metric
    ours = registry.built_in("metrics")
    for kind in dict.fromkeys([*([name] if registry.has("metrics", name) else []), *ours]):
        settings = registry.find("metrics", kind, "decoding.utility")
        assert issubclass(settings, MetricSettings)
        yield settings().build()


class MetricUtility:
    """U(z, y) = the score of text z against text y, by a metric's own statistics; minus it, if less is better."""

    def __init__(self, metric: Metric, score: str, decode: Callable[[Iterable[int]], str]) -> None:
        if score in getattr(metric, "of_all_examples", ()):
            raise InputError(
                f"decoding.utility = {score!r}: has no increments, and depends on all examples that are scored "
                "together; choose a reward, such as cider-d"
            )
        self.metric, self.decode = metric, decode
        self.column = metric.names.index(score)
        self.sign = -1.0 if score in lower_is_better(metric) else 1.0

    def matrices(self, contests: Sequence[Contest], device: torch.device) -> Iterator[Tensor]:
        return map(self.matrix, contests)

    def matrix(self, contest: Contest) -> Tensor:
        """U of every candidate and reference of a line; texts that are equal are scored once. [C, R]"""
        ours = [self.decode(tokens) for tokens in contest.candidates]
        theirs = [self.decode(tokens) for tokens in contest.references]
        pairs = list(dict.fromkeys((z, y) for z in ours for y in theirs))
        if not pairs:
            return torch.zeros(len(ours), 0, dtype=torch.float64)
        statistics = self.metric.statistics([z for z, _ in pairs], [[y] for _, y in pairs])
        scores = self.sign * self.metric.per_example(statistics)[:, self.column]
        found = dict(zip(pairs, scores.tolist(), strict=True))
        return torch.tensor([[found[z, y] for y in theirs] for z in ours], dtype=torch.float64)
