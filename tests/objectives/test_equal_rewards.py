"""Examples whose samples all earn the same: they are counted, and where all are like that, nothing changes."""

import json
import math
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from bangbang import config as configs
from bangbang.config import Config
from bangbang.contracts import Diagnostics
from bangbang.objectives import Rules, Sampling, means, rloo, scst, spg
from bangbang.objectives.leave_one_out import to_go
from bangbang.objectives.policy_gradients import model_samples
from bangbang.rewards import RougeN
from bangbang.symbols import UNK
from bangbang.training import checkpoint, loop, train
from bangbang.training.monitor import Monitor
from tests.objectives.test_limits import REFERENCES, Constant, generator, model_and_decoder

BATCH = REFERENCES.repeat_interleave(5, 0)  # [20, T]
OTHERS = Sampling(0.0, 2, baseline="others", rules=Rules(weight=0.0))


def shares_of(samples: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Of each sample, R(z | y) [B, J], and what it still earns at each token [B, J, T]."""
    _, decoder = model_and_decoder()
    _, sample = model_samples(decoder.repeat(5), RougeN(3), BATCH, 6, samples, generator(), with_earned=True)
    return sample.shares.view(20, samples), to_go(sample).view(20, samples, -1)


def test_they_are_counted() -> None:
    _, decoder = model_and_decoder()
    given = decoder.repeat(5), RougeN(3), BATCH
    shares, left = shares_of(2)
    same = int((shares[:, 0] == shares[:, 1]).sum())
    assert 0 < same < 20
    proposal = rloo(*given, 6, 2, "sequence", generator())
    assert proposal.diagnostics[-2:] == (20, same) == spg(*given, 6, OTHERS, generator()).diagnostics[-2:]
    alike = int((left[:, 0] == left[:, 1]).all(1).sum())
    assert alike <= same, "of two samples of the same reward, one may have earned it earlier"
    assert rloo(*given, 6, 2, "token", generator()).diagnostics.equal == alike
    unrewarded = torch.full((20, 1), UNK)
    none = int((shares_of(1)[0] == 0).sum())
    assert none > 0 and scst(*given, unrewarded, 6, 1, generator()).diagnostics[-2:] == (20, none)


@pytest.mark.parametrize("settings", [Sampling(0.4, 2), Sampling(0.4, 2, False, "others")])
def test_where_nothing_is_compared_nothing_is_counted(settings: Sampling) -> None:
    _, decoder = model_and_decoder()
    proposal = spg(decoder, Constant(), REFERENCES, 6, settings, generator())
    assert proposal.diagnostics[-2:] == (0, 0)
    assert "equal_share" not in means(proposal.diagnostics)


@pytest.mark.parametrize("normalizer", ["constant", "positions"])
def test_a_run_of_equal_rewards_changes_nothing_and_says_so(
    tiny_config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, normalizer: str
) -> None:
    monkeypatch.setattr(loop, "run_reward", lambda *_: Constant())
    settings = ["objective.kind=rloo", "objective.samples=2", f"objective.normalizer={normalizer}"]
    settings += ["training.max_steps=3", "training.log_every=1", "training.validation_examples=4"]
    began = train(configs.read(tiny_config, [*settings, "training.max_steps=1"]), tmp_path / "one").run
    train(configs.read(tiny_config, settings), tmp_path / "run")
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").open()]
    logged = [line for line in lines if line["kind"] == "train"]
    assert [line["equal_share"] for line in logged] == [1.0] * 3 and not any(line["skipped"] for line in logged)
    assert all(math.isfinite(value) for line in logged for value in line.values() if isinstance(value, float))
    files = [began.checkpoints / checkpoint.name_of(1), tmp_path / "run" / "checkpoints" / checkpoint.name_of(3)]
    first, last = (load_file(file / checkpoint.MODEL) for file in files)
    assert all(torch.equal(first[name], last[name]) for name in first)


def test_the_progress_line_shows_their_share(capsys: pytest.CaptureFixture[str]) -> None:
    monitor = Monitor(Config(), checkpoint.Progress(step=4), enabled=True)
    monitor.spoke -= 60
    sums = Diagnostics(8, 40, 40, compared=8, equal=2)
    monitor.update(checkpoint.Progress(step=5), {"loss": 0.5, "examples_per_second": 7.0, **means(sums)})
    assert "loss 0.500  25% equal rewards  7 examples/s" in capsys.readouterr().err
