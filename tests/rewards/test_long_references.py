"""Arg-max sets with references of up to 60 tokens, of which one word may be worth 1e-21: brute force finds the same."""

import math
from collections.abc import Sequence

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bangbang.rewards import (
    Bleu,
    CiderD,
    DocumentFrequency,
    EditDistance,
    Gleu,
    Increments,
    RougeL,
    RougeN,
    Sum,
    arg_max_set,
    dense,
)
from bangbang.rewards.state import BaseReward, equal_if_close
from bangbang.symbols import BOS, EOS, PAD, SYMBOLS
from tests.oracles import reward_scores as literal
from tests.rewards.cases import Scorer, batch, best, ended, mean

LETTERS = "abcdefghijklmnopqrstuvwxyz"
TEXTS = [*SYMBOLS, *LETTERS, "outside"]
V = len(TEXTS)
DOCUMENTS = [[[LETTERS[(i * k) % 26] for k in range(1, 2 + i % 7)]] for i in range(40)]
FREQUENCY = DocumentFrequency.count(DOCUMENTS)


def idf(gram: tuple[int, ...]) -> float:
    return math.log(len(DOCUMENTS)) - math.log(max(1, FREQUENCY.counts.get(tuple(TEXTS[i] for i in gram), 0)))


REWARDS: dict[str, tuple[BaseReward, Scorer]] = {
    "rouge-3": (RougeN(3), mean(literal.rouge_n)),
    "rouge-3 best": (RougeN(3, several="best"), best(literal.rouge_n)),
    "rouge-3 recall": (RougeN(3, measure="recall"), mean(lambda z, y: literal.rouge_n(z, y, measure="recall"))),
    "rouge-l": (RougeL(1.2), mean(lambda z, y: literal.rouge_l(z, y, 1.2))),
    "bleu": (Bleu(), literal.bleu),
    "gleu": (Gleu(), best(literal.gleu)),
    "cider-d": (
        CiderD(FREQUENCY, TEXTS, extra_candidates=range(2, V)),
        mean(lambda z, y: literal.cider_d(z, y, idf)),
    ),
    "word errors": (EditDistance(), mean(literal.word_accuracy)),
    "character errors": (
        EditDistance("character", texts=TEXTS, extra_candidates=range(2, V)),
        mean(lambda z, y: literal.character_accuracy(z, y, TEXTS)),
    ),
    "a tenth of cider-d": (
        Sum(CiderD(FREQUENCY, TEXTS, extra_candidates=range(2, V)), weights=(0.1,)),
        mean(lambda z, y: literal.cider_d(z, y, idf)),
    ),
}

letters = st.integers(4, 29)
long = st.lists(letters, min_size=20, max_size=59)


def arg_max_tokens(increments: Increments) -> set[int]:
    best_ones = dense(Increments(increments.tokens, *arg_max_set(increments)), V)[0]
    return set(best_ones.nonzero().flatten().tolist()) - {PAD, BOS}


def brute_force(score: Scorer, z: list[int], references: Sequence[list[int]]) -> set[int] | None:
    """The tokens of the largest score in double precision; None where it is in doubt whether another is as large."""
    scores = {v: score([*z, v], references) for v in range(2, V)}
    top = max(scores.values())
    gaps = [(top - value) / max(map(abs, scores.values())) for value in scores.values()]
    if any(1e-13 < gap < 1e-7 for gap in gaps):
        return None
    return {v for v, gap in zip(scores, gaps, strict=True) if gap < 1e-13}


@pytest.mark.parametrize("name", REWARDS)
@settings(derandomize=True, max_examples=12, deadline=None)
@given(references=st.lists(long, min_size=1, max_size=3), data=st.data())
def test_the_arg_max_set_is_that_of_brute_force(name: str, references: list[list[int]], data: st.DataObject) -> None:
    reward, score = REWARDS[name]
    y, references = references[0], ended(references)
    # a prefix that is half the reference's: first its first words, then words of anywhere
    kept = data.draw(st.integers(0, len(y)))
    z = [*y[:kept], *data.draw(st.lists(letters, max_size=3))]
    state = reward.start(batch([[each[:-1] for each in references]]))
    for t in range(len(z) + 1):
        if t in (0, 1, kept, len(z)):
            expected = brute_force(score, z[:t], references)
            assume(expected is not None)
            assert arg_max_tokens(state.increments()) == expected
        if t < len(z):
            state.advance(torch.tensor([z[t]]))


@pytest.mark.parametrize("name", ["bleu", "cider-d", "a tenth of cider-d"])
@pytest.mark.parametrize("length", [24, 40, 60])
def test_the_first_word_of_a_long_reference_is_told_from_all_others(name: str, length: int) -> None:
    y = [4 + (7 * place) % 26 for place in range(length - 1)]
    increments = REWARDS[name][0].start(torch.tensor([[*y, EOS]])).increments()
    chosen = arg_max_tokens(increments)
    assert 0 < float(increments.values.max()) < 1e-3
    assert chosen == brute_force(REWARDS[name][1], [], [[*y, EOS]])
    assert not chosen & (set(range(2, V)) - set(y)), "words outside the reference"
    assert chosen == {y[0]} or name != "bleu", "the start symbol tells the first word"


@given(
    terms=st.lists(st.floats(0.001, 1), min_size=2, max_size=40),
    scale=st.integers(-25, 25),
    seed=st.integers(0, 100),
)
def test_one_number_summed_in_many_orders_is_one_number(terms: list[float], scale: int, seed: int) -> None:
    shuffle = torch.Generator().manual_seed(seed)
    numbers = torch.tensor(terms, dtype=torch.float64) * 10.0**scale
    sums = []
    for _ in range(6):
        order = torch.randperm(len(numbers), generator=shuffle)
        sums.append(sum(numbers[order].tolist()))
    others = [sums[0] * (1 + 1e-9), sums[0] * 0.5, -sums[0], 0.0]
    found = equal_if_close(torch.tensor([[*sums, *others]], dtype=torch.float64), numbers.amax()[None])[0]
    assert len(set(found[:6].tolist())) == 1
    assert len(set(found.tolist())) == 5, "other numbers stay others"
    torch.testing.assert_close(found, torch.tensor([*sums, *others], dtype=torch.float64), rtol=1e-12, atol=0)


def test_what_cancels_is_equal_too() -> None:
    """Means of signed scores: the rounding error is that of the terms, not of the small rest."""
    terms = torch.tensor([0.1, 0.2, 0.3, -0.1, -0.2, -0.3], dtype=torch.float64)
    sums = [sum(terms[list(order)].tolist()) for order in ((0, 1, 2, 3, 4, 5), (0, 3, 1, 4, 2, 5), (2, 1, 0, 5, 4, 3))]
    assert len(set(sums)) > 1
    found = equal_if_close(torch.tensor([sums], dtype=torch.float64), torch.tensor([0.3], dtype=torch.float64))
    assert len(set(found[0].tolist())) == 1
