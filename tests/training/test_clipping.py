"""Our clipped update against torch's: the mean's gradient, clip_grad_norm_, then the optimiser."""

import pytest
import torch

from bangbang.training import optimizer
from bangbang.training.optimizer import build_optimizer, clipped_step, gradient_norm
from bangbang.training.settings import OptimizerSettings


@pytest.mark.parametrize("kind", ["adagrad", "adamw"])
@pytest.mark.parametrize("max_norm", [0.05, 100.0])
@pytest.mark.parametrize("fused", [True, False])
def test_equals_torch(kind: str, max_norm: float, fused: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    monkeypatch.setattr(optimizer, "can_be_fused", lambda *_: fused)
    shapes = [(3, 4), (5,), (1,)]
    config = OptimizerSettings(kind=kind, learning_rate=0.1)  # type: ignore[arg-type]
    ours, theirs = ([torch.nn.Parameter(torch.ones(shape)) for shape in shapes] for _ in range(2))
    optimizers = [build_optimizer(parameters, config) for parameters in (ours, theirs)]
    for _ in range(3):
        for one, other in zip(ours[:2], theirs[:2], strict=True):  # the last one has no gradient
            one.grad = torch.randn_like(one)
            other.grad = one.grad / 7
        norm = gradient_norm(ours, 1 / 7)
        torch.testing.assert_close(norm, torch.nn.utils.clip_grad_norm_(theirs, max_norm))
        clipped_step(optimizers[0], 1 / 7, norm, max_norm)
        optimizers[1].step()
        for one, other in zip(ours, theirs, strict=True):
            torch.testing.assert_close(one, other)
    assert not hasattr(optimizers[0], "grad_scale")
    torch.testing.assert_close(ours[2], torch.ones(1))
