"""DUP, EOS and Length forbid: what they fall on is in no arg-max set, whatever the main reward's scale."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bangbang.rewards import (
    Bleu,
    CiderD,
    Dup,
    EditDistance,
    Eos,
    FunctionReward,
    Increments,
    Length,
    RougeL,
    RougeN,
    Sum,
    arg_max_set,
    dense,
)
from bangbang.rewards.settings import CiderDSettings
from bangbang.rewards.state import BaseReward
from bangbang.symbols import BOS, EOS, PAD
from tests.oracles import reward_scores as literal
from tests.rewards.cases import (
    FREQUENCY,
    INPUTS,
    TEXTS,
    Scorer,
    V,
    batch,
    ended,
    idf,
    mean,
    one_or_several,
    outputs,
    references,
    shared_words,
    without_unknown,
)

few = settings(derandomize=True, max_examples=40, deadline=None)


def thousands(z: list[int], several: list[list[int]]) -> float:
    return 1000 * shared_words(z, several)


def endless(z: list[int], several: list[list[int]]) -> float:
    """Asks for anything but an end."""
    return -5.0 * (EOS in z)


MAINS: dict[str, tuple[BaseReward, Scorer]] = {
    "rouge-3": (RougeN(3), mean(literal.rouge_n)),
    "rouge-l": (RougeL(), mean(literal.rouge_l)),
    "bleu": (Bleu(), literal.bleu),
    "word errors": (EditDistance(), mean(literal.word_accuracy)),
    "thousands": (FunctionReward(thousands), lambda z, ys: thousands(list(z), [without_unknown(y) for y in ys])),
    "endless": (FunctionReward(endless), lambda z, ys: endless(list(z), [])),
    "cider-d": (
        CiderD(FREQUENCY, TEXTS, extra_candidates=range(2, V)),
        mean(lambda z, y: literal.cider_d(z, y, idf)),
    ),
}
every_main = pytest.mark.parametrize("name", MAINS)


def best_tokens(increments: Increments) -> set[int]:
    best = arg_max_set(increments)
    return set(dense(Increments(increments.tokens, *best), V)[0].nonzero().flatten().tolist()) - {PAD, BOS}


def greedy(reward: BaseReward, y: list[int], length: int = 20) -> list[int]:
    """The target that the reward alone spells, ties by the smallest id."""
    state, z = reward.start(batch([[y]])), []
    while EOS not in z and len(z) < length:
        z.append(min(best_tokens(state.increments())))
        state.advance(torch.tensor([z[-1]]))
    return z


@every_main
@few
@given(several=one_or_several, z=outputs, weights=st.tuples(*[st.sampled_from((0.01, 1.0, 3.0))] * 3))
def test_the_lightest_penalty_comes_first_then_the_main_gain(
    name: str, several: list[list[int]], z: list[int], weights: tuple[float, float, float]
) -> None:
    main, score = MAINS[name]
    dup, eos, length = weights
    state = Sum(main, Dup(), Eos(), Length(), weights=(0.3, *weights)).start(batch([several]))
    several = ended(several)

    def penalty(tokens: list[int]) -> float:
        return (
            dup * literal.dup(tokens)
            + eos * mean(literal.eos)(tokens, several)
            + length * mean(literal.length)(tokens, several)
        )

    for t in range(len(z) + 1):
        prefix, tokens = z[:t], range(2, V)
        light = max(penalty([*prefix, v]) for v in tokens)
        free = [v for v in tokens if penalty([*prefix, v]) > light - 1e-9]
        top = max(score([*prefix, v], several) for v in free)
        expected = {v for v in free if score([*prefix, v], several) > top - 1e-9}
        assert best_tokens(state.increments()) == expected
        if t < len(z):
            state.advance(torch.tensor([z[t]]))


@every_main
@few
@given(y=references)
def test_targets_of_the_reward_alone_neither_end_early_nor_stutter(name: str, y: list[int]) -> None:
    main, _ = MAINS[name]
    z = greedy(Sum(main, Dup(), Eos(), weights=(1, 0.001, 0.001)), y)
    assert EOS not in z[: len(y)]
    assert literal.dup(z) == 0
    assert len(greedy(Sum(main, Dup(), Eos(), Length(), weights=(1, 0.001, 0.001, 0.001)), y)) == len(y) + 1


def test_a_shaped_cider_d_of_the_config_does_not_end_early() -> None:
    """After the last two words of y, `</s>` adds 2.3 more than any other token: more than a weight of 1 takes."""
    y = [TEXTS.index(word) for word in ("a", "ab", "x", "ba")]
    config = CiderDSettings(max_n=4)
    rewards = [each.build(INPUTS) for each in (config, replace(config, dup=0.0, eos=0.0))]
    states = [reward.start(batch([[y]])) for reward in rewards]
    for state in states:
        for token in y[-2:]:
            state.advance(torch.tensor([token]))
    shaped, free = (best_tokens(state.increments()) for state in states)
    assert free == {EOS} and EOS not in shaped


def test_where_all_tokens_are_penalized_alike_the_gain_decides() -> None:
    """Two references, one of them over: half ask for the end, half forbid it. Gains are below a penalty's digits."""

    def tiny(z: list[int], several: list[list[int]]) -> float:
        return 1e-12 * len(set(z) & set(several[0]))

    state = Sum(FunctionReward(tiny), Eos(), Length()).start(batch([[[4, 5], [6, 7, 8, 4, 5]]]))
    for token in (9, 9, 9):
        state.advance(torch.tensor([token]))
    increments = state.increments()
    assert set(increments.penalties.flatten().tolist()) == {-0.5} == set(increments.rest_penalty.tolist())
    assert best_tokens(increments) == {EOS, 4, 5}


def test_equal_shares_of_the_references_are_equal_penalties() -> None:
    """20 of 40 references are over, whichever they are: the end and all other tokens cost the same to the bit."""
    generator = torch.Generator().manual_seed(0)
    for _ in range(20):
        lengths = torch.tensor([1, 5] * 20)[torch.randperm(40, generator=generator)]
        state = Sum(RougeN(1), Eos(), Length()).start(batch([[[4] * int(length) for length in lengths]]))
        for token in (6, 7):
            state.advance(torch.tensor([token]))
        increments = state.increments()
        assert len({*increments.penalties.flatten().tolist(), *increments.rest_penalty.tolist()}) == 1


def test_a_finite_weight_sees_the_weighted_sum() -> None:
    y = torch.tensor([[4, 5, EOS]])
    state, main = Sum(RougeN(3), Dup(), Eos(), weights=(1, 0.5, 0.25)).start(y), RougeN(3).start(y)
    for each in (state, main):
        each.advance(torch.tensor([4]))
    expected = dense(main.increments(), V)
    expected[0, 4] -= 0.5
    expected[0, EOS] -= 0.25
    torch.testing.assert_close(dense(state.increments(), V), expected)
    total = state.increments().total
    torch.testing.assert_close(dense(total, V), expected)
    assert total.penalties is None
