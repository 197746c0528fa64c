"""Beam search against enumeration of every sequence; greedy against a plain arg-max loop."""

import itertools
from dataclasses import replace

import pytest
import torch

from bangbang.decoding import generate
from bangbang.decoding.settings import DecodingSettings
from bangbang.symbols import BOS, EOS, PAD, UNK
from tests.decoding.table_model import TableModel

V, LENGTH = 7, 4
FREE = DecodingSettings(dup=False, unknown=True)


@pytest.fixture
def model() -> TableModel:
    torch.manual_seed(3)
    return TableModel(torch.randn(6, V, V).double() * 1.5)


def ended_sequences(dup: bool, unknown: bool) -> list[list[int]]:
    """All sequences that may be generated: ending in `</s>`, or cut at the longest length."""
    words = [token for token in range(V) if token not in (PAD, BOS, EOS) and (unknown or token != UNK)]
    every = [[*body, EOS] for length in range(LENGTH) for body in itertools.product(words, repeat=length)] + [
        list(body) for body in itertools.product(words, repeat=LENGTH)
    ]
    return [z for z in every if not (dup and any(a == b for a, b in itertools.pairwise(z)))]


@pytest.mark.parametrize("penalty", [0.0, 1.0])
@pytest.mark.parametrize(("dup", "unknown"), [(False, True), (True, False)])
def test_a_wide_beam_finds_the_best_sequences(model: TableModel, penalty: float, dup: bool, unknown: bool) -> None:
    every = ended_sequences(dup, unknown)
    config = DecodingSettings(method="beam", beam_size=len(every), length_penalty=penalty, dup=dup, unknown=unknown)
    for which in range(3):
        ranked = sorted(every, key=lambda z: -model.log_p(which, z) / len(z) ** penalty)
        [found] = generate(model, [[which]], config, LENGTH, nbest=5)
        for hypothesis, expected in zip(found, ranked, strict=False):
            assert hypothesis.tokens == [token for token in expected if token != EOS]
            assert hypothesis.log_prob == pytest.approx(model.log_p(which, expected))
            assert hypothesis.score == pytest.approx(model.log_p(which, expected) / len(expected) ** penalty)


@pytest.mark.parametrize("dup", [False, True])
def test_greedy_is_arg_max_token_by_token(model: TableModel, dup: bool) -> None:
    for which in range(6):
        expected, last = [], BOS
        for _ in range(LENGTH):
            logits = model.tables[which, last].clone()
            logits[[PAD, BOS]] = -torch.inf
            if dup:
                logits[last] = -torch.inf
            last = int(logits.argmax())
            if last == EOS:
                break
            expected.append(last)
        [[found]] = generate(model, [[which]], replace(FREE, dup=dup), LENGTH)
        assert found.tokens == expected


def test_dup_forbids_a_token_twice_in_a_row(model: TableModel) -> None:
    tables = torch.zeros(1, V, V)
    tables[0, :, 5] = 5.0  # the model wants to say 5 for ever
    stutter = TableModel(tables)
    assert generate(stutter, [[0]], FREE, LENGTH)[0][0].tokens == [5, 5, 5, 5]
    spoken = generate(stutter, [[0]], replace(FREE, dup=True), LENGTH)[0][0].tokens
    assert all(a != b for a, b in itertools.pairwise(spoken))


def test_beam_is_at_least_as_likely_as_greedy_and_batched_as_alone(model: TableModel) -> None:
    inputs = [[which] for which in range(6)]
    beam = replace(FREE, method="beam", beam_size=3, length_penalty=0.0)
    together = generate(model, inputs, beam, LENGTH, nbest=3)
    for which in range(6):
        assert generate(model, [[which]], beam, LENGTH, nbest=3) == [together[which]]
        [[greedy]] = generate(model, [[which]], FREE, LENGTH)
        assert together[which][0].log_prob >= greedy.log_prob - 1e-9
        assert len({tuple(h.tokens) for h in together[which]}) == 3
