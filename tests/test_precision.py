"""Devices without float64 are never asked for it. The CPU plays such a device."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from bangbang import precision
from bangbang.decoding import generate
from bangbang.decoding.settings import DecodingSettings
from bangbang.models import AttentionGru, InputDecoder
from bangbang.models.settings import AttentionGruSettings
from bangbang.objectives import Decoder, Proposal, Rules, Sampling, mle, raml, scored_losses, spg
from bangbang.rewards import Increments
from bangbang.symbols import EOS, PAD
from bangbang.training.checkpoint import Progress
from bangbang.training.monitor import Interval
from bangbang.training.optimizer import build_optimizer, clipped_step, gradient_norm
from bangbang.training.settings import OptimizerSettings

REFERENCES = torch.tensor([[5, 6, 7, EOS], [8, 9, EOS, PAD]])


class NoFloat64(TorchDispatchMode):
    """Fails as soon as an operation gives a float64 tensor."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        wide = any(isinstance(part, Tensor) and part.dtype == torch.float64 for part in tree_leaves(result))
        assert not wide, f"{func} gave float64"
        return result


class Presence:
    """A reward state in float32: 1 for a word of the reference, so that all of them are tied."""

    def __init__(self, references: Tensor, total: Tensor) -> None:
        self.references, self.total = references, total

    def increments(self) -> Increments:
        values = (self.references != PAD).float()
        return Increments(self.references, values, torch.zeros_like(self.total))

    def advance(self, tokens: Tensor) -> None:
        self.total = self.total + (tokens[:, None] == self.references).any(1)

    def value(self) -> Tensor:
        return self.total

    def select(self, rows: Tensor) -> "Presence":
        return Presence(self.references[rows], self.total[rows])


class PresenceReward:
    def start(self, references: Tensor) -> Presence:
        return Presence(references, torch.zeros(len(references)))


def by_spg(weight: float) -> Callable[[Decoder, torch.Generator], Proposal]:
    settings = Sampling(p_drop=0.4, samples=2, rules=Rules(weight=weight))
    return lambda decoder, generator: spg(decoder, PresenceReward(), REFERENCES, 5, settings, generator)


OBJECTIVES: dict[str, Callable[[Decoder, torch.Generator], Proposal]] = {
    "mle": lambda decoder, generator: mle(decoder, REFERENCES),
    "raml": lambda decoder, generator: raml(decoder, REFERENCES, 5, 0.9, 2, generator),
    "raml by reward": lambda decoder, generator: raml(decoder, REFERENCES, 5, 0.9, 2, generator, PresenceReward()),
    "bang-bang": by_spg(float("inf")),
    "spg": by_spg(3.0),
}


def whole_step(objective: Callable[[Decoder, torch.Generator], Proposal]) -> dict[str, float]:
    """Targets, loss, update and the logged line."""
    torch.manual_seed(0)
    model = AttentionGru(600, AttentionGruSettings(layers=1, units=8, dropout=0.1)).train()
    optimizer = build_optimizer(model.parameters(), OptimizerSettings())
    interval = Interval(Progress())
    decoder = InputDecoder(model, model.encode(torch.randint(4, 600, (2, 3)), torch.tensor([3, 2])))
    losses, diagnostics = scored_losses(model.head, objective(decoder, torch.Generator().manual_seed(1)))
    losses.sum().backward()
    norm = gradient_norm(model.parameters())
    clipped_step(optimizer, 1 / len(losses), norm, 1.0)
    interval.add(losses.detach().mean(), norm, diagnostics, 2)
    return interval.close(torch.device("cpu"), lambda sums: 2 * sums)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_a_training_step_needs_no_float64(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "WITHOUT_FLOAT64", {"cpu"})
    with NoFloat64():
        logged = whole_step(OBJECTIVES[name])
    assert logged["loss"] > 0 and logged["entropy"] > 0


@pytest.mark.parametrize("method", ["sample", "beam"])
def test_decoding_needs_no_float64(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "WITHOUT_FLOAT64", {"cpu"})
    model = AttentionGru(30, AttentionGruSettings(layers=1, units=8, dropout=0.0))
    with NoFloat64():
        (hypotheses,) = generate(model, [[4, 5]], DecodingSettings(method=method), 4)  # type: ignore[arg-type]
    assert hypotheses


def test_the_guard_sees_float64() -> None:
    """What a device with float64 does is what the others must not do."""
    with pytest.raises(AssertionError, match="gave float64"), NoFloat64():
        whole_step(OBJECTIVES["bang-bang"])


def test_only_mps_has_none() -> None:
    found = {kind: precision.widest_float(torch.device(kind)) for kind in ("cpu", "cuda", "mps")}
    assert found == {"cpu": torch.float64, "cuda": torch.float64, "mps": torch.float32}
