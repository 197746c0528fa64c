"""Every reward beside the literal scorer it must agree with, and random sentences to try them on."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from hypothesis import strategies as st
from torch import Tensor

from bangbang.contracts import RewardInputs
from bangbang.rewards import (
    Bleu,
    CiderD,
    DocumentFrequency,
    Dup,
    EditDistance,
    Eos,
    ExactMatch,
    FunctionReward,
    Gleu,
    Length,
    RougeL,
    RougeN,
    Sum,
)
from bangbang.rewards.state import BaseReward
from bangbang.symbols import EOS, PAD, SYMBOLS, UNK
from tests.oracles import reward_scores as literal

Tokens = Sequence[int]
Scorer = Callable[[Tokens, Sequence[Tokens]], float]

WORDS = [4, 5, 6, 7, 8, 9]  # 9 is never in a reference
TEXTS = [*SYMBOLS, "a", "ab", "ba", "street", "on", "x"]
V = len(TEXTS)


def mean(score: Callable[[Tokens, Tokens], float]) -> Scorer:
    return lambda z, references: sum(score(z, y) for y in references) / len(references)


def best(score: Callable[[Tokens, Tokens], float]) -> Scorer:
    return lambda z, references: max(score(z, y) for y in references)


TRAINING = [[["a", "ab", "a"], ["street"]], [["a", "street", "on"]], [["on", "a", "ab"]], [["ba", "a", "ab", "a"]]]
FREQUENCY = DocumentFrequency.count(TRAINING)
INPUTS = RewardInputs(TEXTS, " ", lambda: TRAINING)  # what a reward's settings are built with


def idf(gram: tuple[int, ...]) -> float:
    return math.log(len(TRAINING)) - math.log(max(1, FREQUENCY.counts.get(tuple(TEXTS[i] for i in gram), 0)))


def shared_words(z: list[int], references: list[list[int]]) -> float:
    """A metric as somebody might write it."""
    return sum(len(set(z) & set(y)) for y in references) / len(z)


def without_unknown(y: Tokens) -> list[int]:
    return [-1 if token == UNK else token for token in y]


@dataclass(frozen=True)
class Case:
    name: str
    reward: BaseReward
    score: Scorer
    exact: bool = True  # for every token; else for the candidates only


CASES = [
    Case("rouge-3", RougeN(3), mean(literal.rouge_n)),
    Case("rouge-3 best", RougeN(3, several="best"), best(literal.rouge_n)),
    Case("rouge-1", RougeN(1), mean(lambda z, y: literal.rouge_n(z, y, (1,)))),
    Case(
        "rouge-2 only, recall, without start",
        RougeN(orders=(2,), measure="recall", start_symbol=False),
        mean(lambda z, y: literal.rouge_n(z, y, (2,), "recall", False)),
    ),
    Case(
        "rouge-1 and 3, precision",
        RougeN(orders=(3, 1), measure="precision"),
        mean(lambda z, y: literal.rouge_n(z, y, (1, 3), "precision")),
    ),
    Case("rouge-l", RougeL(), mean(literal.rouge_l)),
    Case("rouge-l beta best", RougeL(1.2, several="best"), best(lambda z, y: literal.rouge_l(z, y, 1.2))),
    Case("bleu", Bleu(), literal.bleu),
    Case("bleu-3 without start", Bleu(3, start_symbol=False), lambda z, ys: literal.bleu(z, ys, 3, False)),
    Case("gleu", Gleu(), best(literal.gleu)),
    Case("cider-d", CiderD(FREQUENCY, TEXTS), mean(lambda z, y: literal.cider_d(z, y, idf)), exact=False),
    Case("word errors", EditDistance(), mean(literal.word_accuracy)),
    Case("word errors best", EditDistance(several="best"), best(literal.word_accuracy)),
    Case(
        "character errors",
        EditDistance("character", texts=TEXTS),
        mean(lambda z, y: literal.character_accuracy(z, y, TEXTS)),
        exact=False,
    ),
    Case("exact match", ExactMatch(), mean(literal.exact_match)),
    Case("exact match best", ExactMatch(several="best"), best(literal.exact_match)),
    Case("dup", Dup(), lambda z, references: literal.dup(z)),
    Case("dup unless in reference", Dup(unless_in_reference=True), literal.dup),
    Case("eos", Eos(), mean(literal.eos)),
    Case("eos best", Eos(several="best"), best(literal.eos)),
    Case("length", Length(), mean(literal.length)),
    Case("metric", FunctionReward(shared_words), lambda z, ys: shared_words(list(z), [without_unknown(y) for y in ys])),
    Case(
        "rouge-3 + dup + eos",
        Sum(RougeN(3), Dup(), Eos()),
        lambda z, ys: mean(literal.rouge_n)(z, ys) + literal.dup(z) + mean(literal.eos)(z, ys),
    ),
    Case(
        "dup + rouge-l + bleu + cider-d, weighted",
        Sum(Dup(), RougeL(), Bleu(), CiderD(FREQUENCY, TEXTS), weights=(2, 0.5, 1, 0.1)),
        lambda z, ys: (
            2 * literal.dup(z)
            + 0.5 * mean(literal.rouge_l)(z, ys)
            + literal.bleu(z, ys)
            + 0.1 * mean(lambda z, y: literal.cider_d(z, y, idf))(z, ys)
        ),
        exact=False,
    ),
]

references = st.lists(st.sampled_from([*WORDS[:-1], UNK]), min_size=1, max_size=6).filter(lambda y: set(y) != {UNK})
one_or_several = st.lists(references, min_size=1, max_size=3)
outputs = st.lists(st.sampled_from([*WORDS, UNK]), max_size=8)


def batch(rows: Sequence[Sequence[Tokens]]) -> Tensor:
    """References [B, M, T] from lists of words; `</s>` is added."""
    several = max(len(row) for row in rows)
    width = max(len(y) for row in rows for y in row) + 1
    tensor = torch.full((len(rows), several, width), PAD)
    for b, row in enumerate(rows):
        for m, y in enumerate(row):
            tensor[b, m, : len(y) + 1] = torch.tensor([*y, EOS])
    return tensor


def ended(rows: Sequence[Tokens]) -> list[list[int]]:
    return [[*y, EOS] for y in rows]
