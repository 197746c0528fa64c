"""An ensemble is the mean of its members' distributions, whatever decodes it."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from bangbang.contracts import Offsets
from bangbang.decoding import BeamSearch, RewardUtility, generate
from bangbang.decoding.settings import DecodingSettings
from bangbang.heads.combined_head import CombinedHead, mean_log_prob
from bangbang.models import AttentionGru, Ensemble
from bangbang.models.settings import AttentionGruSettings
from bangbang.rewards import ExactMatch
from bangbang.symbols import BOS, EOS, PAD, UNK

V = 9
SOURCES = [[4, 5, 6], [7, 8], [4, 4, 4, 8]]


def model(seed: int, units: int = 8, vocabulary: int = V) -> AttentionGru:
    torch.manual_seed(seed)
    chosen = AttentionGruSettings(layers=1, units=units, dropout=0.0)
    return AttentionGru(vocabulary, chosen, vocabulary + 2).double().eval().requires_grad_(False)


def members() -> list[AttentionGru]:
    return [model(1), model(2, units=6), model(3)]  # of different widths


def next_logits(each: AttentionGru | Ensemble, tokens: list[int]) -> Tensor:
    """The logits of the token after these. [1, V]"""
    state = each.encode(torch.tensor([[4, 5, 6]]), torch.tensor([3]))
    for token in [BOS, *tokens]:
        state, features = each.step(state, torch.tensor([token]))
    return each.head.logits(features)


def log_p(each: AttentionGru | Ensemble, tokens: list[int]) -> Tensor:
    """log p of the token after these. [1, V]"""
    return next_logits(each, tokens).log_softmax(1)


@pytest.mark.parametrize("average", ["probabilities", "log-probabilities"])
def test_it_is_the_mean_of_its_members(average: str) -> None:
    own, team = members(), Ensemble(members(), average)
    for tokens in ([], [4], [5, 7, 5]):
        each = torch.stack([log_p(member, tokens) for member in own])
        expected = each.exp().mean(0)
        if average == "log-probabilities":
            expected = each[:, :, EOS:].mean(0).exp()
            expected = torch.cat([torch.zeros(1, EOS), expected / expected.sum()], 1)
        assert torch.allclose(log_p(team, tokens).exp(), expected, atol=1e-12)
        assert torch.allclose(next_logits(team, tokens), log_p(team, tokens))  # they are normalised already


@settings(max_examples=20)
@given(st.integers(1, 4), st.integers(0, 100))
def test_copies_of_one_distribution_change_nothing(copies: int, seed: int) -> None:
    one = torch.randn(3, V, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).log_softmax(1)
    for average in ("probabilities", "log-probabilities"):
        assert torch.allclose(mean_log_prob(one.expand(copies, -1, -1), average), one)


def test_decoders_find_what_one_model_of_that_distribution_would() -> None:
    """Three copies decode as one of them does, in every way and line by line."""
    one, team = model(1), Ensemble([model(1) for _ in range(3)])
    for method in ("greedy", "beam", "sample", "mbr"):
        config = DecodingSettings(method=method, mbr_samples=6, dup=False)
        found = [generate(each, SOURCES, config, 6, utility=RewardUtility(ExactMatch())) for each in (one, team)]
        assert [[each.tokens for each in line] for line in found[0]] == [
            [each.tokens for each in line] for line in found[1]
        ]
        for ours, theirs in zip(*found, strict=True):
            assert ours[0].log_prob == pytest.approx(theirs[0].log_prob)


def test_a_wide_beam_finds_the_likeliest_text_of_the_ensemble() -> None:
    team = Ensemble([model(seed, vocabulary=6) for seed in (4, 5)])
    config = DecodingSettings(method="beam", length_penalty=0.0, dup=False, unknown=True)
    state = team.encode(torch.tensor([[4, 5, 6]]), torch.tensor([3]))
    (best, *_), *_ = BeamSearch(team, state, 12, 2, config).run()
    possible = [UNK, 4, 5]
    whole = [[EOS], *([a, EOS] for a in possible), *([a, b] for a in possible for b in possible)]  # at most 2 tokens
    scores = {tuple(text): float(team_log_p(team, text)) for text in whole}
    likeliest = max(scores, key=scores.__getitem__)
    assert tuple(best.tokens) == tuple(token for token in likeliest if token != EOS)
    assert best.log_prob == pytest.approx(scores[likeliest])


def team_log_p(team: Ensemble, tokens: list[int]) -> Tensor:
    return sum(log_p(team, tokens[:place])[0, token] for place, token in enumerate(tokens))


def combined() -> tuple[CombinedHead, Tensor, Tensor]:
    """A head, features of four rows, and their log p."""
    team = Ensemble(members())
    state = team.encode(torch.tensor([[4, 5], [6, 7], [8, 4], [5, 5]]), torch.tensor([2, 2, 1, 2]))
    _, features = team.step(state, torch.full((4,), BOS))
    return team.head, features, team.head.logits(features)


def test_the_head_keeps_its_contract() -> None:
    head, features, log_p = combined()
    assert head.size == V and torch.allclose(log_p.exp().sum(1), torch.ones(4, dtype=torch.float64))
    tokens = torch.tensor([[4, -1], [5, 5], [PAD, 6], [7, 8]])
    found = head.candidate_logits(features, tokens)
    assert found[0, 1] == -math.inf and found[2, 0] == -math.inf and found[3, 1] == log_p[3, 8]
    weights = torch.tensor([[2.0, 0.0], [1.0, 0.5], [0.0, 1.0], [1.0, 1.0]])
    expected = [2 * log_p[0, 4], 1.5 * log_p[1, 5], log_p[2, 6], log_p[3, 7] + log_p[3, 8]]
    assert torch.allclose(head.score(features, tokens, weights).log_prob, torch.stack(expected))
    assert torch.allclose(head.log_prob(features, tokens[:, 0].clamp(min=4)), log_p[range(4), [4, 5, 4, 7]])
    smooth = head.score(features, tokens[:, 1].clamp(min=4), smoothing=0.25).log_prob
    assert smooth[3] == pytest.approx(float(0.75 * log_p[3, 8] + 0.25 * log_p[3, EOS:].mean()))
    sets = head.score_sets(features, torch.tensor([[4, PAD], [5, 6], [7, 8], [4, 8]])).log_prob
    assert sets[1] == pytest.approx(float((log_p[1, 5].exp() + log_p[1, 6].exp()).log()))
    best, which = head.top_k(features, 2, log_p.argmax(1, keepdim=True))
    assert not (which == log_p.argmax(1, keepdim=True)).any() and (best[:, 0] >= best[:, 1]).all()


def test_draws_follow_the_distribution() -> None:
    head, features, log_p = combined()
    uniform = torch.linspace(0, 1, 2001, dtype=torch.float64)[:-1]
    drawn = head.sample(features[:1].expand(2000, -1), uniform)
    shares = torch.bincount(drawn, minlength=V) / 2000
    assert torch.allclose(shares.double(), log_p[0].exp(), atol=2e-3)
    one = log_p[:1].argmax(1)
    never = Offsets(one.expand(2000, 1), torch.full((2000, 1), -math.inf))
    assert not (head.sample(features[:1].expand(2000, -1), uniform, never) == one).any()
    assert (head.sample(features[:1].expand(2000, -1), uniform, top_k=1) == one).all()
