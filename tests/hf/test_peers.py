"""What transformers and TRL are measured by: a plain trainer's run, and curves of both RLOO trainers."""

import json
from pathlib import Path

import pytest

from bangbang.cli.main import main
from bangbang.training import Run
from benchmarks import plain_trainer, trl_curves

GPT2 = '{family = "gpt2", n_embd = 16, n_layer = 1, n_head = 2, n_positions = 64}'


def test_the_plain_trainer_makes_a_run(hf_config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = ["stages=[]", "training.max_steps=4", "training.validate_every=2", "optimizer.decay=cosine"]
    words = [word for each in settings for word in ("--set", each)]
    plain_trainer.main([str(hf_config), "--out", str(tmp_path / "run"), *words])
    run = Run.open(tmp_path / "run")
    assert run.checkpoint("last").name == "step-00000004"
    capsys.readouterr()
    assert main(["evaluate", str(tmp_path / "run"), "--split", "test", "--json"]) == 0
    assert "rouge-l" in capsys.readouterr().out


@pytest.mark.parametrize("contender", trl_curves.CONTENDERS)
def test_a_curve_has_its_points(
    contender: str, hf_config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if contender == "trl":
        pytest.importorskip("trl")
    settings = [f"model.from_scratch={GPT2}", "stages=[]", "training.max_steps=2", "training.validate_every=2"]
    words = [word for each in settings for word in ("--set", each)]
    assert main(["train", str(hf_config), *words, "--out", str(tmp_path / "run")]) == 0
    small = ["--points", "2", "--examples", "4", "--batch", "2", "--samples", "2"]
    minutes = ["--minutes", "0.01", "--cold-minutes", "0.01"]
    capsys.readouterr()
    curves = trl_curves.main([str(tmp_path / "run"), "--contenders", contender, *small, *minutes])
    assert list(curves) == [contender]
    assert len(curves[contender]) >= 2 and curves[contender][-1][1] > 0
    assert json.loads(capsys.readouterr().out)["arguments"]["samples"] == 2
