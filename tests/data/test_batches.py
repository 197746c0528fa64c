"""The order of training is a pure function, and the same for one process and for several."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bangbang.data import batches


def split(examples: int, seed: int = 0) -> Any:
    """All that `batches` looks at: the lengths."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 31, size=(2, examples)).astype(np.int32)
    return SimpleNamespace(examples=examples, source_lengths=lengths[0], target_lengths=lengths[1])


sizes = st.tuples(st.integers(0, 700), st.integers(1, 9), st.integers(1, 4), st.integers(0, 5), st.integers(0, 5))
quick = settings(derandomize=True, max_examples=150, deadline=None)


@quick
@given(sizes)
def test_every_example_at_most_once_and_nearly_all(case: tuple[int, int, int, int, int]) -> None:
    examples, size, world, seed, epoch = case
    data = split(examples)
    ranks = [batches(data, size, seed, epoch, rank, world) for rank in range(world)]
    seen = np.concatenate([np.zeros(0, int), *(batch for rank in ranks for batch in rank)])
    assert len(np.unique(seen)) == len(seen)
    assert set(seen.tolist()) <= set(range(examples))
    whole = size * world
    assert len(seen) == (examples if examples < whole else examples - examples % whole)
    assert len({len(rank) for rank in ranks}) == 1
    if examples >= whole:
        assert all(len(batch) == size for rank in ranks for batch in rank)


@quick
@given(sizes)
def test_ranks_together_are_the_global_batch(case: tuple[int, int, int, int, int]) -> None:
    examples, size, world, seed, epoch = case
    data = split(examples)
    alone = batches(data, size * world, seed, epoch)
    ranks = [batches(data, size, seed, epoch, rank, world) for rank in range(world)]
    for step, batch in enumerate(alone):
        together = np.empty_like(batch)
        for rank in range(world):
            together[rank::world] = ranks[rank][step]
        np.testing.assert_array_equal(together, batch)


@quick
@given(sizes)
def test_the_same_arguments_give_the_same_order(case: tuple[int, int, int, int, int]) -> None:
    examples, size, world, seed, epoch = case
    for one, other in zip(*(batches(split(examples), size, seed, epoch, 0, world) for _ in "12"), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("change", [(2, 1), (1, 2)])
def test_seed_and_epoch_change_the_order(change: tuple[int, int]) -> None:
    data = split(500)
    one, other = batches(data, 10, 1, 1), batches(data, 10, *change)
    assert any((left != right).any() for left, right in zip(one, other, strict=True))


def test_lengths_within_a_batch_are_alike_but_steps_are_in_no_order() -> None:
    data = split(20_000)
    steps = batches(data, 32, 1, 0)
    filled = [data.target_lengths[step].mean() / data.target_lengths[step].max() for step in steps]
    assert np.mean(filled) > 0.95
    data = split(3_200)  # one window, which alone would leave the steps in order
    steps = batches(data, 32, 1, 0)
    longest = [data.target_lengths[step].max() for step in steps]
    assert longest != sorted(longest)


def test_what_one_epoch_leaves_out_is_not_always_the_same() -> None:
    data = split(105)
    left_out = [set(range(105)) - set(np.concatenate(batches(data, 10, 1, epoch)).tolist()) for epoch in range(20)]
    assert len(set().union(*left_out)) > 40
