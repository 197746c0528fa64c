"""Which optimiser is built, and the learning rate as a function of the step."""

import pytest
import torch

from bangbang.training import optimizer
from bangbang.training.optimizer import build_optimizer, can_be_fused, learning_rate
from bangbang.training.settings import OptimizerSettings


@pytest.mark.parametrize(
    ("kind", "device", "version", "fused"),
    [
        ("adagrad", "cpu", (2, 6), True),
        ("adagrad", "cuda", (2, 6), False),
        ("adagrad", "cuda", (2, 11), False),
        ("adagrad", "cuda", (2, 12), True),
        ("adagrad", "cuda", (3, 0), True),
        ("adagrad", "mps", (2, 13), False),
        ("adagrad", "xpu", (2, 13), False),
        ("adamw", "cpu", (2, 6), True),
        ("adamw", "cuda", (2, 6), True),
        ("adamw", "mps", (2, 13), False),
    ],
)
def test_fused_where_torch_has_it(kind: str, device: str, version: tuple[int, int], fused: bool) -> None:
    assert can_be_fused(kind, device, version) == fused  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["adagrad", "adamw"])
@pytest.mark.parametrize("fused", [True, False])
def test_the_optimiser_is_built_as_decided(kind: str, fused: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimizer, "torch_version", lambda: (2, 6) if fused else (2, 3))
    built = build_optimizer([torch.nn.Parameter(torch.ones(2))], OptimizerSettings(kind=kind))  # type: ignore[arg-type]
    assert [group["fused"] for group in built.param_groups] == [fused]


def test_the_installed_version_is_read() -> None:
    assert ".".join(map(str, optimizer.torch_version())) == ".".join(torch.__version__.split(".")[:2])


def test_warm_up_then_constant() -> None:
    config = OptimizerSettings(learning_rate=0.4, warmup_steps=4)
    assert [learning_rate(step, 100, config) for step in (0, 1, 3, 4, 99)] == pytest.approx([0.1, 0.2, 0.4, 0.4, 0.4])


def test_cosine_falls_to_zero() -> None:
    config = OptimizerSettings(learning_rate=1.0, decay="cosine")
    assert [learning_rate(step, 100, config) for step in (0, 50, 100, 101)] == pytest.approx([1.0, 0.5, 0.0, 0.0])
