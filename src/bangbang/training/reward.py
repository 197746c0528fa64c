"""The reward that a run is trained with."""

from collections.abc import Callable

from bangbang.data import Split
from bangbang.rewards import DocumentFrequency, Sum, build_reward
from bangbang.training.run import Run

ROWS = 2_000  # at a time: the references of a large corpus do not fit in memory


def run_reward(run: Run, train: Callable[[], Split]) -> Sum:
    """The reward of the run's [reward] table; `train` gives the training split, which CIDEr-D alone asks for.

    It is counted when the reward is first used: maximum likelihood never does.
    """
    separator = "" if run.config.vocabulary.kind == "bpe" else " "  # pieces of words hold their blanks themselves
    return build_reward(run.config.reward, run.vocabulary.texts(), lambda: document_frequency(run, train()), separator)


def document_frequency(run: Run, split: Split) -> DocumentFrequency:
    """Of a split's references as training sees them: cut, in the vocabulary's tokens."""
    tokens, limit = run.vocabulary.texts(), run.config.data.max_target_length - 1  # room for `</s>`
    starts = range(0, len(split), ROWS)
    rows = (texts for start in starts for texts in split.references(slice(start, start + ROWS)))
    return DocumentFrequency.count(
        [[tokens[index] for index in ids[:limit]] for ids in run.vocabulary.encode_batch(texts)] for texts in rows
    )
