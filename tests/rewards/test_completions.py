"""The tokens that begin a best completion, against all completions of a small vocabulary."""

from fractions import Fraction
from functools import cache
from itertools import product

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bangbang.errors import InputError
from bangbang.rewards import Dup, EditDistance, Eos, FunctionReward, RougeN, Sum, completions, repeat
from bangbang.symbols import EOS, PAD, UNK
from tests.objectives.test_limits import Constant
from tests.rewards.cases import TEXTS, batch, shared_words

A, B, C = 4, 5, 6
WORDS = (UNK, A, B, C)
LONGEST = 3  # of references and prefixes, without `</s>`
Tokens = tuple[int, ...]

words = st.lists(st.sampled_from((A, B, C)), min_size=1, max_size=LONGEST)
prefixes = st.lists(st.sampled_from(WORDS), max_size=LONGEST)


@cache
def distance(z: Tokens, y: Tokens) -> int:
    """Levenshtein's, by its recursion; `<unk>` of y matches nothing."""
    if not z or not y:
        return len(z) + len(y)
    same = z[-1] == y[-1] != UNK
    return min(distance(z[:-1], y) + 1, distance(z, y[:-1]) + 1, distance(z[:-1], y[:-1]) + (not same))


def brute_force(z: list[int], references: list[list[int]]) -> set[int]:
    """The first tokens of all completions with the lowest error rate by any reference."""
    found: dict[int, Fraction] = {}
    endings = [c for length in range(LONGEST + 1) for c in product(WORDS, repeat=length)]
    for ending in endings:
        whole = (*z, *ending, EOS)
        rate = min(Fraction(distance(whole, (*y, EOS)), len(y) + 1) for y in references)
        first = whole[len(z)]
        found[first] = min(rate, found.get(first, rate))
    return {token for token, rate in found.items() if rate == min(found.values())}


def listed(z: list[int], references: list[list[int]], several="best") -> list[int]:
    state = EditDistance(several=several).start(batch([references]))
    for token in z:
        state.advance(torch.tensor([token]))
    return [token for token in completions(state)[0].tolist() if token != PAD]


@settings(derandomize=True, max_examples=60, deadline=None)
@given(z=prefixes, references=st.lists(words, min_size=1, max_size=2))
@example(z=[UNK], references=[[A, B, C], [B]])  # one edit is less of the longer one
def test_they_are_those_of_all_completions(z: list[int], references: list[list[int]]) -> None:
    found = listed(z, references)
    assert len(found) == len(set(found)) and set(found) == brute_force(z, references)


@settings(derandomize=True, max_examples=40, deadline=None)
@given(z=prefixes, y=st.lists(st.sampled_from(WORDS), min_size=1, max_size=LONGEST).filter(lambda y: {*y} != {UNK}))
def test_where_the_reference_has_an_unknown_word_any_token_may_do(z: list[int], y: list[int]) -> None:
    """Where every word is as good, `<unk>` stands for those that are not listed."""
    found, exact = set(listed(z, [y])), brute_force(z, [y])
    assert found <= exact
    assert found == exact or (UNK in found and set(WORDS) <= exact)


@given(words)
def test_a_beginning_of_the_reference_goes_on_with_it(y: list[int]) -> None:
    assert [listed(y[:t], [y]) for t in range(len(y) + 1)] == [[token] for token in (*y, EOS)]


def test_rows_are_apart_and_finished_ones_have_none() -> None:
    state = repeat(EditDistance().start(batch([[[A, B, C]], [[A, A, B]]])), 2)
    state.advance(torch.tensor([A, C, B, EOS]))
    found = [set(row) - {PAD} for row in completions(state).tolist()]
    assert found == [{B}, {A, B}, {A}, set()], "a wrong first word was put before the reference, or in place of a word"
    assert completions(state.select(torch.tensor([2, 0]))).tolist() == [[A], [B]]


def test_a_sum_has_those_of_its_main_reward() -> None:
    state = Sum(EditDistance(), Dup(), Eos()).start(batch([[[A, A]]]))
    state.advance(torch.tensor([A]))
    assert completions(state).tolist() == [[A]]


@pytest.mark.parametrize(
    "reward",
    [
        RougeN(2),
        Sum(RougeN(2), EditDistance()),
        EditDistance("character", texts=TEXTS),
        FunctionReward(shared_words),
        Constant(),
        Sum(Constant()),
    ],
)
def test_other_rewards_say_that_they_do_not_know_them(reward) -> None:
    with pytest.raises(InputError, match=r"does not know how a prefix is completed best; set reward\.kind = "):
        completions(reward.start(batch([[[A, B]]]).squeeze(1)))
