"""The MLE proposal and its loss against the literal Eq. 1."""

import pytest
import torch
from torch import Tensor

from bangbang.contracts import Scored
from bangbang.errors import InputError
from bangbang.objectives import mle, token_losses
from bangbang.objectives.settings import Mle
from bangbang.symbols import EOS, PAD, UNK
from tests.oracles.enumeration import TOKENS, A, B, PrefixModel, gradient


def test_loss_is_minus_the_log_likelihood_of_the_reference() -> None:
    model = PrefixModel()
    references = torch.tensor([[A, B, EOS], [B, EOS, PAD], [EOS, PAD, PAD], [UNK, A, EOS]])
    proposal = mle(model.decoder(4), references)
    losses = token_losses(model.head, proposal)
    sequences = [tuple(token for token in row if token != PAD) for row in references.tolist()]
    # time by time, row by row within each
    expected = [float(-model.log_p(y[:t])[y[t]]) for t in range(3) for y in sequences if len(y) > t]
    torch.testing.assert_close(losses.detach(), torch.tensor(expected, dtype=torch.float64))
    assert proposal.diagnostics.sample_tokens == proposal.diagnostics.reference_tokens == 9


@pytest.mark.parametrize("smoothing", [0.1, 0.5])
def test_smoothed_targets_are_a_mixture_with_all_tokens_that_can_be_generated(smoothing: float) -> None:
    """By enumeration: Σ_v q(v) · -log p(v), where q is 1-ε on y_t and ε/4 on each of the four tokens."""
    model, y = PrefixModel(), (A, B, EOS)
    proposal = (
        Mle(label_smoothing=smoothing)
        .build(pytest.fail, 3)
        .targets(model.decoder(1), torch.tensor([y]), 0, torch.Generator())
    )
    expected = [
        sum(-((1 - smoothing) * (v == token) + smoothing / len(TOKENS)) * model.log_p(y[:t])[v] for v in TOKENS)
        for t, token in enumerate(y)
    ]
    losses = token_losses(model.head, proposal)
    torch.testing.assert_close(losses, torch.stack(expected))
    torch.testing.assert_close(gradient(losses.sum(), model), gradient(torch.stack(expected).sum(), model))


def test_without_smoothing_a_head_is_not_asked_for_it() -> None:
    """Heads of others may not know it."""
    model, asked = PrefixModel(), []

    class Other:
        def score(self, features: Tensor, tokens: Tensor, weights: Tensor) -> Scored:
            asked.append(tokens.tolist())
            return model.head.score(features, tokens, weights)

    token_losses(Other(), mle(model.decoder(1), torch.tensor([[A, EOS]])))  # type: ignore[arg-type]
    assert asked == [[A, EOS]]


def test_its_name_and_its_rule() -> None:
    assert Mle().label == "MLE" and Mle().is_the_papers
    smoothed = Mle(label_smoothing=0.1)
    assert smoothed.label == "MLE smoothed 0.1" and not smoothed.is_the_papers
    with pytest.raises(InputError, match=r"objective.label_smoothing must be at least 0 and below 1, not 1\.0"):
        Mle(label_smoothing=1.0)
