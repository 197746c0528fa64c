"""The reward that a run is trained with."""

from collections.abc import Callable, Iterator

from bangbang.contracts import RewardInputs
from bangbang.data import Split
from bangbang.rewards import Sum
from bangbang.rewards.settings import RewardSettings
from bangbang.training.run import Run

ROWS = 2_000  # at a time: the references of a large corpus do not fit in memory


def run_reward(run: Run, settings: RewardSettings, train: Callable[[], Split]) -> Sum:
    """The reward of a [reward] table; `train` gives the training split, which few rewards ask for, when they begin."""
    inputs = RewardInputs(run.vocabulary.texts(), run.vocabulary.joint, lambda: training_references(run, train()))
    return settings.build(inputs)


def training_references(run: Run, split: Split) -> Iterator[list[list[str]]]:
    """The tokens of each example's references as training sees them: cut to the run's length."""
    tokens, most = run.vocabulary.texts(), run.config.data.max_target_length - 1  # room for `</s>`
    for start in range(0, len(split), ROWS):
        for texts in split.references(slice(start, start + ROWS)):
            yield [[tokens[index] for index in ids[:most]] for ids in run.vocabulary.encode_batch(texts)]
