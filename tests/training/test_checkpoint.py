"""Checkpoints: whole or not there, checked, and read without unpickling."""

import json
from pathlib import Path

import pytest
import torch

from bangbang.errors import InputError
from bangbang.training import checkpoint, retention
from bangbang.training.checkpoint import Progress
from bangbang.training.optimizer import build_optimizer
from bangbang.training.settings import OptimizerSettings


def trained(seed: int) -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(seed)
    model = torch.nn.Linear(3, 2)
    optimizer = build_optimizer(model.parameters(), OptimizerSettings(kind="adamw"))
    model(torch.randn(4, 3)).sum().backward()
    optimizer.step()
    return model, optimizer


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return checkpoint.save(tmp_path, *trained(0), Progress(step=7, best_step=5, best_score=1.5))


def test_round_trip(saved: Path) -> None:
    model, optimizer = trained(0)
    other, other_optimizer = trained(1)
    assert checkpoint.read_progress(saved) == Progress(step=7, best_step=5, best_score=1.5)
    checkpoint.load_model(saved, other)
    checkpoint.load_optimizer(saved, other, other_optimizer)
    for one, two in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(one, two)
        for entry, value in optimizer.state[one].items():
            assert torch.equal(value, other_optimizer.state[two][entry]), entry


def test_the_next_update_is_the_same(saved: Path) -> None:
    models = []
    for seed in (0, 1):
        model, optimizer = trained(seed)
        checkpoint.load_model(saved, model)
        checkpoint.load_optimizer(saved, model, optimizer)
        optimizer.zero_grad()
        model(torch.ones(1, 3)).sum().backward()
        optimizer.step()
        models.append(model)
    assert torch.equal(models[0].weight, models[1].weight)


@pytest.mark.parametrize("name", [checkpoint.MODEL, checkpoint.OPTIMIZER, checkpoint.STATE])
def test_damage_is_named(saved: Path, name: str) -> None:
    path = saved / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content[:-3])
    with pytest.raises(InputError, match=name):
        checkpoint.read_progress(saved)


def test_another_models_weights_are_refused(saved: Path) -> None:
    with pytest.raises(InputError, match="shape"):
        checkpoint.load_model(saved, torch.nn.Linear(3, 4))
    with pytest.raises(InputError, match="another model"):
        checkpoint.load_model(saved, torch.nn.Sequential(torch.nn.Linear(3, 2)))


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "checksum", full)
    with pytest.raises(InputError, match="space"):
        checkpoint.save(tmp_path, *trained(0), Progress(step=1))
    assert list(tmp_path.iterdir()) == []


def test_prune_keeps_the_newest_and_the_best(tmp_path: Path) -> None:
    for step in (1, 2, 3, 4, 5):
        checkpoint.save(tmp_path, *trained(0), Progress(step=step))
    retention.prune(tmp_path, keep=2, best_step=2)
    assert [path.name[-1] for path in retention.listed(tmp_path)] == ["2", "4", "5"]


def test_state_is_plain_json(saved: Path) -> None:
    assert json.loads((saved / checkpoint.STATE).read_text())["step"] == 7
