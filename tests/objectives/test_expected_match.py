"""The expected exact match, against sums over all sequences, and as what RLOO on the exact match is on average."""

from itertools import product

import pytest
import torch
from torch import Tensor

from bangbang.objectives import expected_match, token_losses
from bangbang.objectives.settings import ExpectedMatch
from bangbang.symbols import EOS, PAD
from tests.objectives.test_limits import REFERENCES, model_and_decoder
from tests.oracles.enumeration import TIME, A, B, PrefixModel, Tokens, gradient, sequences

Y: tuple[Tokens, ...] = ((B, EOS), (A, B, EOS), (EOS,))  # lengths whose table is not its own transpose


def padded() -> Tensor:
    return torch.tensor([[*y, *[PAD] * (TIME - len(y))] for y in Y])


def log_p(model: PrefixModel, z: Tokens, temperature: float) -> Tensor:
    """log Π_t p(z_t | z_{1:t-1})^(1/T), normalised at each step: softmax(logits / T) is softmax(log p / T)."""
    steps = [torch.log_softmax(model.log_p(z[:t]) / temperature, 0)[token] for t, token in enumerate(z)]
    return torch.stack(steps).sum()


def ours(model: PrefixModel, temperature: float) -> Tensor:
    proposal = expected_match(model.decoder(len(Y)), padded(), temperature)
    assert proposal.divisor == len(Y)
    return gradient(token_losses(model.head, proposal).sum() / proposal.divisor, model)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_its_gradient_is_that_of_the_probability_of_the_references(temperature: float) -> None:
    model = PrefixModel()
    probability = torch.stack([log_p(model, y, temperature).exp() for y in Y]).mean()
    torch.testing.assert_close(ours(model, temperature), gradient(-probability, model))


@pytest.mark.parametrize("temperature", [0.5, 1.0])
def test_it_is_rloo_on_the_exact_match_summed_over_all_pairs_of_samples(temperature: float) -> None:
    """-Σ_{z,z'} p(z) p(z') (1(z = y) - 1(z' = y)) ∂log p(z), J = 2."""
    model = PrefixModel()
    terms = []
    for y in Y:
        found = {z: log_p(model, z, temperature) for z in sequences()}
        p = {z: each.exp().item() for z, each in found.items()}
        assert sum(p.values()) == pytest.approx(1)
        terms += [p[z] * p[other] * ((z == y) - (other == y)) * found[z] for z, other in product(p, p)]
    torch.testing.assert_close(ours(model, temperature), gradient(-torch.stack(terms).sum() / len(Y), model))


def test_what_it_reports_is_the_expected_match() -> None:
    model = PrefixModel()
    proposal = expected_match(model.decoder(len(Y)), padded())
    assert proposal.diagnostics.rewarded == len(Y)
    assert proposal.diagnostics.reward == pytest.approx(sum(log_p(model, y, 1.0).exp().item() for y in Y))


def test_each_token_of_a_reference_counts_alike_and_without_a_gradient() -> None:
    _, decoder = model_and_decoder()
    proposal = expected_match(decoder, REFERENCES, 0.5)
    assert len(proposal.tokens) == (REFERENCES != PAD).sum() and not proposal.coefficients.requires_grad
    assert len(set(proposal.coefficients.tolist())) == len(REFERENCES)
    assert ExpectedMatch(temperature=0.5).label == "Expected match T=0.5"
    assert ExpectedMatch().label == "Expected match" and not ExpectedMatch().is_rewarded
