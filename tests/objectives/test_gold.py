"""GOLD: literally, and as maximum likelihood where γ is 0."""

import pytest
import torch

from bangbang.objectives import gold, mle, token_losses
from bangbang.objectives.settings import Gold
from bangbang.symbols import EOS, PAD
from tests.objectives.test_exact import references
from tests.objectives.test_limits import REFERENCES, loss_and_gradients, model_and_decoder
from tests.oracles.enumeration import A, B, PrefixModel, gradient


@pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0])
def test_it_is_likelihood_weighed_by_the_probability_as_a_constant(gamma: float) -> None:
    model, y = PrefixModel(), (A, B, EOS)
    proposal = gold(model.decoder(1), references((y,), 1), gamma)
    log_p = [model.log_p(y[:t])[token] for t, token in enumerate(y)]
    expected = torch.stack([-(each.detach().exp() ** gamma) * each for each in log_p])
    losses = token_losses(model.head, proposal)
    torch.testing.assert_close(losses, expected)
    torch.testing.assert_close(gradient(losses.sum(), model), gradient(expected.sum(), model))


def test_without_gamma_it_is_maximum_likelihood_to_the_bit() -> None:
    model, decoder = model_and_decoder()
    ours = loss_and_gradients(model, gold(decoder, REFERENCES, 0.0))
    model, decoder = model_and_decoder()
    torch.testing.assert_close(ours, loss_and_gradients(model, mle(decoder, REFERENCES)), rtol=0, atol=0)


def test_it_counts_every_token_of_the_reference_and_is_named() -> None:
    _, decoder = model_and_decoder()
    proposal = gold(decoder, REFERENCES, 1.0)
    assert len(proposal.tokens) == (REFERENCES != PAD).sum() and not proposal.coefficients.requires_grad
    assert ((proposal.coefficients > 0) & (proposal.coefficients < 1)).all()
    assert Gold().label == "GOLD" and not Gold().is_rewarded and not Gold().is_the_papers
