"""The reward that a run is trained with."""

from collections.abc import Callable

from bangbang.data import Split
from bangbang.rewards import DocumentFrequency, Sum, build_reward
from bangbang.training.run import Run


def run_reward(run: Run, train: Callable[[], Split]) -> Sum:
    """The reward of the run's [reward] table; `train` gives the training split, which CIDEr-D alone asks for."""
    return build_reward(run.config.reward, run.vocabulary.texts(), lambda: document_frequency(run, train()))


def document_frequency(run: Run, split: Split) -> DocumentFrequency:
    """Of a split's references, whose tokens are the vocabulary's."""
    vocabulary = run.vocabulary
    return DocumentFrequency.count(
        [[vocabulary.token(index) for index in ids] for ids in vocabulary.encode_batch(texts)]
        for texts in split.references(slice(0, len(split)))
    )
