"""Choosing one token: arg-max sets, ties, the reference's order, temperature."""

import math

import pytest
import torch

from bangbang.heads import VocabularyHead
from bangbang.objectives.choice import Rules, choose
from bangbang.objectives.sampler import places_in
from bangbang.rewards import Increments, arg_max_set
from bangbang.symbols import EOS, PAD

TOKENS = torch.tensor([[4, 5, 6, PAD]])
TIES = Increments(TOKENS, torch.tensor([[0.5, 0.5, 0.1, -0.2]]), torch.tensor([-0.2]))
REST = Increments(TOKENS, torch.tensor([[-0.2, -1.0, -1.0, -0.2]]), torch.tensor([-0.2]))
ROWS = 20_000


def head_and_features() -> tuple[VocabularyHead, torch.Tensor]:
    torch.manual_seed(0)
    return VocabularyHead(9, 3), torch.randn(1, 3).expand(ROWS, -1)


def repeated(increments: Increments) -> Increments:
    return Increments(*(field.expand(ROWS, *field.shape[1:]) for field in increments[:3]))


def frequencies(increments: Increments, rules: Rules, driven: bool = True) -> torch.Tensor:
    head, features = head_and_features()
    alive, driven_rows = torch.ones(ROWS, dtype=torch.bool), torch.full((ROWS,), driven)
    choice = choose(head, features, repeated(increments), alive, driven_rows, torch.rand(ROWS), rules, repeated_order())
    return torch.bincount(choice.tokens, minlength=9) / ROWS


def repeated_order() -> torch.Tensor:
    return places_in(torch.tensor([[6, 5, 4, EOS]]), TOKENS).expand(ROWS, -1)


def model_p() -> torch.Tensor:
    head, features = head_and_features()
    return head.logits(features[:1]).softmax(1)[0].detach()


def test_arg_max_sets() -> None:
    assert arg_max_set(TIES).candidates.tolist() == [[True, True, False, False]] and not arg_max_set(TIES).rest
    assert arg_max_set(REST).candidates.tolist() == [[True, False, False, False]] and arg_max_set(REST).rest


def test_ties_are_drawn_from_the_model_restricted_to_them() -> None:
    p = model_p()
    expected = torch.zeros(9)
    expected[[4, 5]] = p[[4, 5]] / p[[4, 5]].sum()
    torch.testing.assert_close(frequencies(TIES, Rules()), expected, rtol=0, atol=0.015)


def test_the_rest_of_the_vocabulary_may_be_best() -> None:
    p = model_p()
    p[[5, 6]] = 0
    torch.testing.assert_close(frequencies(REST, Rules()), p / p.sum(), rtol=0, atol=0.015)


def test_a_finite_weight_tilts_the_model() -> None:
    increments = torch.full((9,), -0.2)
    increments[[4, 5, 6]] = torch.tensor([0.5, 0.5, 0.1])
    expected = (model_p().log() + 3 * increments).softmax(0)
    torch.testing.assert_close(frequencies(TIES, Rules(weight=3.0)), expected, rtol=0, atol=0.015)


def test_the_model_alone() -> None:
    torch.testing.assert_close(frequencies(TIES, Rules(), driven=False), model_p(), rtol=0, atol=0.015)
    sharp = (model_p().log() / 0.5).softmax(0)
    torch.testing.assert_close(frequencies(TIES, Rules(temperature=0.5), driven=False), sharp, rtol=0, atol=0.015)
    best = frequencies(TIES, Rules(top_k=2), driven=False)
    assert (best > 0).sum() == 2 and best[model_p().argmax()] > 0
    # temperature and top-k leave reward-driven tokens alone
    torch.testing.assert_close(frequencies(REST, Rules(top_k=1)), frequencies(REST, Rules()), rtol=0, atol=0.015)


def test_ties_by_the_reference_take_what_comes_first_there() -> None:
    assert frequencies(TIES, Rules(ties="reference")).tolist()[5] == 1.0
    assert frequencies(REST, Rules(ties="reference")).tolist()[4] == 1.0
    assert places_in(torch.tensor([[6, 5, 4, EOS]]), TOKENS).tolist() == [[2, 1, 0, 4]]


def test_rows_of_all_kinds_at_once() -> None:
    """Reward-driven rows with one best token, with ties, with the rest, and model-driven ones."""
    head, features = head_and_features()
    single = Increments(TOKENS, torch.tensor([[0.5, 0.6, 0.1, -0.2]]), torch.tensor([-0.2]))
    mixed = Increments(*(torch.cat(fields) for fields in zip(single[:3], TIES[:3], REST[:3], TIES[:3], strict=True)))
    driven = torch.tensor([True, True, True, False])
    seen = [set() for _ in range(4)]
    for _ in range(200):
        choice = choose(head, features[:4], mixed, torch.ones_like(driven), driven, torch.rand(4), Rules())
        for row, token in enumerate(choice.tokens.tolist()):
            seen[row].add(token)
        assert choice.tied.tolist() == [False, True, True, False]
    assert seen[0] == {5} and seen[1] == {4, 5} and not seen[2] & {5, 6, PAD} and len(seen[3]) > 4
    assert math.isinf(Rules().weight)


@pytest.mark.parametrize("rules", [Rules(), Rules(weight=5.0), Rules(temperature=0.5), Rules(ties="reference")])
def test_finished_rows_get_nothing_and_change_nothing(rules: Rules) -> None:
    head, features = head_and_features()
    torch.manual_seed(5)
    tokens = torch.tensor([[4, 5, 6]]).expand(40, 3)
    increments = Increments(tokens, torch.randint(0, 2, (40, 3)).float(), torch.randint(0, 2, (40,)).float())
    driven, uniform, order = torch.rand(40) < 0.5, torch.rand(40), torch.randint(0, 9, (40, 3))
    alive = torch.rand(40) < 0.6
    everyone = choose(head, features[:40], increments, torch.ones_like(alive), driven, uniform, rules, order)
    some = choose(head, features[:40], increments, alive, driven, uniform, rules, order)
    assert (some.tokens[~alive] == PAD).all() and not some.tied[~alive].any()
    assert torch.equal(some.tokens[alive], everyone.tokens[alive]) and (everyone.tokens != PAD).all()
    assert torch.equal(some.tied[alive], everyone.tied[alive])
