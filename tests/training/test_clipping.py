"""Our clipping against torch's."""

import pytest
import torch

from bangbang.training.clipping import clip_gradients


@pytest.mark.parametrize("max_norm", [0.5, 100.0])
def test_equals_torch(max_norm: float) -> None:
    torch.manual_seed(0)
    ours = [
        torch.nn.Parameter(torch.zeros(3, 4)),
        torch.nn.Parameter(torch.zeros(5)),
        torch.nn.Parameter(torch.zeros(1)),
    ]
    theirs = [torch.nn.Parameter(torch.zeros_like(parameter)) for parameter in ours]
    for one, other in zip(ours[:2], theirs[:2], strict=True):
        one.grad = torch.randn_like(one)
        other.grad = one.grad.clone()
    norm = clip_gradients(ours, max_norm)
    torch.testing.assert_close(norm, torch.nn.utils.clip_grad_norm_(theirs, max_norm))
    for one, other in zip(ours[:2], theirs[:2], strict=True):
        torch.testing.assert_close(one.grad, other.grad)
