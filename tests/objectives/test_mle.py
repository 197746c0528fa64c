"""The MLE proposal and its loss against the literal Eq. 1."""

import torch

from bangbang.heads import VocabularyHead
from bangbang.objectives import mle, token_losses
from bangbang.symbols import BOS, EOS, PAD


def test_loss_is_minus_the_log_likelihood_of_the_reference() -> None:
    torch.manual_seed(0)
    vocabulary, size = 9, 4
    head = VocabularyHead(vocabulary, size).double()
    table = torch.randn(vocabulary, size, dtype=torch.float64)
    references = torch.tensor([[5, 6, EOS, PAD], [7, EOS, PAD, PAD], [4, 5, 6, EOS]])
    losses = token_losses(head, mle(lambda tokens: table[tokens], references))

    expected = []
    for reference in references.tolist():
        last = BOS
        for token in reference:
            if token == PAD:
                break
            expected.append(-float((table[last] @ head.weight.t() + head.bias).detach().log_softmax(0)[token]))
            last = token
    torch.testing.assert_close(losses.detach(), torch.tensor(expected, dtype=torch.float64))
