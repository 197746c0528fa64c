"""The code of examples/, which docs/extending.md explains: right, and able to train."""

import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings

from bangbang.config import ModelConfig, ObjectiveConfig
from bangbang.models import AttentionGru
from bangbang.objectives import Objective, mle, token_losses
from bangbang.rewards import RougeN, dense
from bangbang.symbols import BOS, EOS, PAD
from bangbang.training.learner import InputDecoder
from examples.own_objective import Mixed
from examples.own_reward import Coverage
from tests.rewards.cases import V, batch, ended, one_or_several, outputs

ROOT = Path(__file__).parents[1]


def coverage(z: Sequence[int], references: Sequence[Sequence[int]]) -> float:
    """The definition, word by word; 3 is `<unk>`, which matches nothing."""
    asked = [set(y) - {EOS, 3} for y in references]
    return sum(len(words & set(z)) / max(1, len(words)) for words in asked) / len(asked)


@settings(max_examples=40)
@given(references=one_or_several, z=outputs)
def test_the_rewards_increments_are_exact(references: list[list[int]], z: list[int]) -> None:
    state = Coverage().start(batch([references]), dtype=torch.float64)
    for t, token in enumerate([*z, EOS]):
        found = dense(state.increments(), V)[0]
        before = coverage(z[:t], ended(references))
        for v in set(range(V)) - {PAD, BOS}:
            assert found[v].item() == pytest.approx(coverage([*z[:t], v], ended(references)) - before, abs=1e-8)
        state.advance(torch.tensor([token]))
    assert state.value().item() == pytest.approx(coverage(z, ended(references)), abs=1e-8)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_objectives_loss_is_the_mixture(share: float) -> None:
    torch.manual_seed(1)
    model = AttentionGru(12, ModelConfig(layers=1, units=8, dropout=0.0))
    source, references = torch.tensor([[4, 5, 6], [7, 8, 0]]), torch.tensor([[4, 5, 2], [9, 2, 0]])
    decoder = InputDecoder(model, model.encode(source, torch.tensor([3, 2])))
    pg = Objective(ObjectiveConfig(kind="pg", samples=4, baseline="others"), RougeN(3), 5)

    def total(proposal: object) -> torch.Tensor:
        return token_losses(model.head, proposal).sum()  # type: ignore[arg-type]

    def noise() -> torch.Generator:
        return torch.Generator().manual_seed(3)

    found = total(Mixed(RougeN(3), 5, share)(decoder, references, 0, noise()))
    expected = share * total(pg(decoder, references, 0, noise())) + (1 - share) * total(mle(decoder, references))
    torch.testing.assert_close(found, expected)
    assert total(mle(decoder, references)) > 1


@pytest.mark.parametrize("name", ["own_reward", "own_objective"])
def test_the_examples_train(
    name: str, tiny_config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [name, str(tiny_config), "--set", "training.max_steps=40"])
    runpy.run_path(str(ROOT / "examples" / f"{name}.py"), run_name="__main__")
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("step")]
    losses = [float(line.partition("loss ")[2].split()[0]) for line in lines]
    assert len(losses) == 4
    assert losses[-1] < 0.8 * losses[0]
