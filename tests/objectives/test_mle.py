"""The MLE proposal and its loss against the literal Eq. 1."""

import torch

from bangbang.objectives import mle, token_losses
from bangbang.symbols import EOS, PAD, UNK
from tests.oracles.enumeration import A, B, PrefixModel


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
