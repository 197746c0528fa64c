"""Sums with rewards written elsewhere, and what DUP lets through."""

from typing import Self

import torch
from torch import Tensor

from bangbang.rewards import Dup, Eos, Increments, RougeL, RougeN, Sum, dense
from bangbang.rewards.sums import SumState
from bangbang.symbols import EOS, PAD

V = 40


class Vowels:
    """A reward as somebody else might write it: it pays 1 for even tokens of the references, once each."""

    def start(self, references: Tensor) -> "VowelState":
        return VowelState(references.flatten(1))


class VowelState:
    def __init__(self, words: Tensor) -> None:
        self.words = words
        self.paid = torch.zeros(len(words))

    def increments(self) -> Increments:
        first = self.words[:, :1]
        return Increments(first, (first % 2 == 0).float(), torch.zeros(len(first)))

    def advance(self, tokens: Tensor) -> None:
        self.paid = self.paid + ((tokens == self.words[:, 0]) & (tokens % 2 == 0))

    def value(self) -> Tensor:
        return self.paid

    def select(self, rows: Tensor) -> Self:
        chosen = type(self)(self.words[rows])
        chosen.paid = self.paid[rows]
        return chosen


def test_rewards_written_elsewhere_can_be_added() -> None:
    references = torch.tensor([[4, 5, EOS], [7, 6, EOS]])
    alone, foreign = RougeN(3).start(references), Vowels().start(references)
    state = Sum(Vowels(), RougeN(3), weights=(0.5, 2)).start(references)
    for tokens in ([4, 6], [5, 7]):
        expected = 0.5 * dense(foreign.increments(), V) + 2 * dense(alone.increments(), V)
        assert torch.allclose(dense(state.increments(), V), expected)
        assert torch.allclose(dense(state.select(torch.tensor([1])).increments(), V), expected[1:])
        for part in (state, alone, foreign):
            part.advance(torch.tensor(tokens))
    assert torch.allclose(state.value(), 0.5 * foreign.value() + 2 * alone.value())


def test_parts_of_one_sum_share_their_candidates_also_after_select() -> None:
    state = Sum(RougeN(3), Eos(), RougeL()).start(torch.tensor([[4, 5, EOS], [7, 6, EOS]]))
    assert isinstance(state, SumState)
    for current in (state, state.select(torch.tensor([1, 0, 1]))):
        tokens = [part.increments().tokens for part in current.parts]
        assert tokens[0] is tokens[1] is tokens[2]
        assert current.increments().tokens.shape[1] == tokens[0].shape[1]


def test_repeats_of_the_reference_are_free_as_often_as_it_has_them() -> None:
    state = Dup(unless_in_reference=True).start(torch.tensor([[4, 5, 5, 6, 5, 5, EOS, PAD]]))
    values = []
    for token in (5, 5, 5, 5, 6, 6):
        state.advance(torch.tensor([token]))
        values.append(state.value().item())
    assert values == [0, 0, 0, -1, -1, -2]
