"""Draws from the vocabulary layer against the exact softmax."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from bangbang.heads import Offsets, VocabularyHead, log_prob, sampling
from bangbang.symbols import BOS, EOS, PAD


def head_of(vocabulary: int, size: int = 5, seed: int = 0) -> VocabularyHead:
    torch.manual_seed(seed)
    head = VocabularyHead(vocabulary, size)
    with torch.no_grad():
        head.weight.normal_()
        head.bias[EOS:].normal_()
    return head


def chi_square_fits(tokens: Tensor, p: Tensor) -> bool:
    """Whether counts fit probabilities [V]: within 4 standard deviations of chi-square's mean, none where p is 0."""
    counts, expected = torch.bincount(tokens, minlength=len(p)).double(), len(tokens) * p.double()
    common = expected >= 5
    # what is too rare to test alone is tested together
    observed = torch.cat((counts[common], counts[~common].sum()[None]))
    awaited = torch.cat((expected[common], expected[~common].sum()[None])).clamp(min=1e-9)
    statistic, freedom = float(((observed - awaited) ** 2 / awaited)[awaited >= 5].sum()), int(common.sum()) - 1
    return bool((counts[p == 0] == 0).all()) and freedom > 5 and statistic < freedom + 4 * math.sqrt(2 * freedom)


@pytest.mark.parametrize("vocabulary", [40, 256, 257, 1000])
def test_draws_follow_the_softmax(vocabulary: int) -> None:
    head, features = head_of(vocabulary), torch.randn(1, 5)
    drawn = head.sample(features.expand(40_000, -1), torch.rand(40_000))
    p = head.logits(features).softmax(1).squeeze(0).detach()
    assert chi_square_fits(drawn, p)
    assert p[PAD] == p[BOS] == 0


def test_offsets_temperature_and_top_k() -> None:
    head, features = head_of(60), torch.randn(1, 5)
    rows = features.expand(40_000, -1)
    tokens = torch.tensor([[10, 11, 12, PAD, PAD]]).expand(40_000, -1)
    values = torch.tensor([[2.0, -torch.inf, 1.0, 0.0, 0.0]]).expand(40_000, -1)
    logits = head.logits(features).detach().squeeze(0)
    shifted = logits.clone()
    shifted[[10, 11, 12]] += torch.tensor([2.0, -torch.inf, 1.0])
    assert chi_square_fits(head.sample(rows, torch.rand(40_000), Offsets(tokens, values)), shifted.softmax(0))
    flat = (logits / 3).softmax(0)
    assert chi_square_fits(head.sample(rows, torch.rand(40_000), temperature=3.0), flat)
    best = logits.masked_fill(logits < logits.topk(9).values[-1], -torch.inf).softmax(0)
    assert chi_square_fits(head.sample(rows, torch.rand(40_000), top_k=9), best)


@pytest.mark.parametrize("rows_at_once", [1, 3, 7, 64])
def test_chunks_change_nothing(rows_at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    head = head_of(700).double()
    features, uniform = torch.randn(33, 5, dtype=torch.float64), torch.rand(33)
    whole = head.sample(features, uniform)
    monkeypatch.setattr(sampling, "chunk_rows", lambda vocabulary: rows_at_once)
    parts = head.sample(features, uniform)
    assert whole.tolist() == parts.tolist()
    assert log_prob.chunk_rows(700) > 64


@pytest.mark.parametrize("count", [1, 8, 9, 15, 16, 17])
@torch.no_grad()
def test_few_rows_have_the_logits_of_the_whole_layer(count: int) -> None:
    head, features = head_of(30), torch.randn(count, 5)
    ((rows, logits),) = sampling.logit_chunks(head.layer(), features)
    assert rows == slice(0, count)
    torch.testing.assert_close(logits, head.logits(features))


@given(st.integers(0, 10_000), st.integers(1, 600), st.floats(0, 1, exclude_max=True))
def test_inversion_is_the_literal_one(seed: int, vocabulary: int, uniform: float) -> None:
    """The first token whose cumulative mass passes u, within what rounding moves; never one without mass."""
    torch.manual_seed(seed)
    mass = torch.rand(1, vocabulary) * (torch.rand(1, vocabulary) < 0.3)
    mass[0, seed % vocabulary] = 1.0
    token = int(sampling.invert(mass, torch.tensor([uniform])))
    cumulative = mass.double().cumsum(1)[0] / mass.double().sum()
    assert float(mass[0, token]) > 0
    before = float(cumulative[token - 1]) if token else 0.0
    assert before - 1e-6 <= uniform <= float(cumulative[token]) + 1e-6


def test_candidate_logits_are_those_of_the_whole_layer() -> None:
    head, features = head_of(50), torch.randn(6, 5)
    tokens = torch.randint(0, 50, (6, 4))
    torch.testing.assert_close(head.candidate_logits(features, tokens), head.logits(features).gather(1, tokens))


def test_top_k_is_that_of_the_whole_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    head, features = head_of(50), torch.randn(7, 5)
    exact = head.logits(features).log_softmax(1).detach()
    monkeypatch.setattr(sampling, "chunk_rows", lambda vocabulary: 3)
    best, tokens = head.top_k(features, 4)
    torch.testing.assert_close(best, exact.topk(4).values)
    torch.testing.assert_close(exact.gather(1, tokens), best)
    first = tokens[:, :1]
    others, _ = head.top_k(features, 4, forbidden=first)
    torch.testing.assert_close(others[:, :3], best[:, 1:])
    assert head.top_k(features, 99)[0].shape == (7, 50)


def test_no_rows_draw_nothing() -> None:
    assert head_of(50).sample(torch.zeros(0, 5), torch.zeros(0)).shape == (0,)


@pytest.mark.usefixtures("bfloat16")
@pytest.mark.parametrize("lowered", ["parameters", "autocast"])
def test_draws_at_low_precision_follow_the_rounded_logits(lowered: str) -> None:
    head, feature = head_of(300), torch.randn(5).bfloat16()
    head.weight.data, head.bias.data = head.weight.data.bfloat16().float(), head.bias.data.bfloat16().float()
    logits = (feature @ head.weight.data.bfloat16().t()).float() + head.bias.data
    logits[:EOS] = -torch.inf
    rows = feature.float().expand(40_000, 5)
    if lowered == "parameters":
        head, rows = head.bfloat16(), rows.bfloat16()
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=lowered == "autocast"):
        drawn = head.sample(rows, torch.rand(40_000))
        best, _ = head.top_k(rows[:1], 3)
    assert chi_square_fits(drawn, logits.softmax(0))
    expected = logits.log_softmax(0).topk(3)
    assert best.dtype == torch.float32
    torch.testing.assert_close(best[0], expected.values)
