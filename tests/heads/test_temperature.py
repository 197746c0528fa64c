"""A head at a temperature, against softmax(logits / T) written out."""

import pytest
import torch
from torch import Tensor

from bangbang.errors import InputError
from bangbang.heads import at_temperature
from bangbang.symbols import EOS
from tests.heads.test_borrowed import FEATURES, FORMS, borrowed
from tests.heads.test_sampling import chi_square_fits

Form = tuple[bool, float, float | None]


def plain(form: Form, features: Tensor, temperature: float) -> tuple[Tensor, list[Tensor]]:
    """log softmax(logits / T) in our ids, and the weights that it depends on."""
    head = borrowed(*form)
    return (head.logits(features) / temperature).log_softmax(1), list(head.linear.parameters())  # type: ignore[attr-defined]


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("form", FORMS)
def test_scores_and_gradients(form: Form, temperature: float) -> None:
    data = torch.randn(5, FEATURES, dtype=torch.float64)
    tokens, weights = torch.tensor([EOS, 8, 4, 7, 10]), torch.tensor([1.0, -2.0, 0.5, 3.0, 1.0]).double()
    features = data.clone().requires_grad_()
    log_p, parameters = plain(form, features, temperature)
    exact = (weights * log_p.gather(1, tokens[:, None]).squeeze(1)).sum()
    expected = torch.autograd.grad(exact, [features, *parameters])

    head, features = borrowed(*form), data.clone().requires_grad_()
    found = at_temperature(head, temperature).score(features, tokens, weights).log_prob.sum()
    torch.testing.assert_close(found, exact)
    gradients = torch.autograd.grad(found, [features, *head.linear.parameters()])  # type: ignore[attr-defined]
    for ours, theirs in zip(gradients, expected, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("form", FORMS)
def test_all_that_decoding_asks(form: Form) -> None:
    features = torch.randn(1, FEATURES, dtype=torch.float64)
    log_p = plain(form, features, 1.7)[0].detach()
    head = at_temperature(borrowed(*form), 1.7)
    assert head.size == log_p.shape[1]
    torch.testing.assert_close(head.logits(features).log_softmax(1), log_p)
    best, tokens = head.top_k(features, 4)
    torch.testing.assert_close(best, log_p.topk(4).values)
    torch.testing.assert_close(log_p.gather(1, tokens), best)
    rows = 20_000
    drawn = head.sample(features.expand(rows, -1), torch.rand(rows, generator=torch.Generator().manual_seed(3)))
    assert chi_square_fits(drawn, log_p[0].exp())


def test_one_is_the_head_itself() -> None:
    head = borrowed()
    assert at_temperature(head, 1.0) is head


def test_a_head_that_is_not_linear_is_refused() -> None:
    with pytest.raises(InputError, match="temperature"):
        at_temperature(object(), 0.5)  # type: ignore[arg-type]
