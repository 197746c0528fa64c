"""`bangbang bench hf`: every number is there, passes are counted, and both likelihoods are the same loss."""

import argparse
import json
from typing import Any

import pytest
import torch

from bangbang.cli.main import main
from benchmarks import hf, trl_peer
from benchmarks.hf_contenders import Contender

SMALL = [
    "--vocab", "60", "--dim", "16", "--layers", "1", "--batch", "4", "--source-length", "6", "--max-length", "8",
    "--mean-length", "5", "--repeats", "1", "--no-memory",
]  # fmt: skip
KEYS = {
    "seconds_per_step", "processor_seconds_per_step", "ratio_to_mle", "processor_ratio_to_mle", "decoder_passes",
    "positions", "peak_memory_mb",
}  # fmt: skip


def parsed(*options: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    hf.add_arguments(parser)
    return parser.parse_args([*SMALL, *options])


def test_every_method_has_every_number(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trl_peer, "find_spec", lambda name: None)
    assert main(["bench", "hf", *SMALL, "--json"]) == 0
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    for method in hf.METHODS:
        assert set(result[method]) == KEYS
    assert result["mle"]["ratio_to_mle"] == 1
    assert result["mle"]["decoder_passes"] == result["mle_transformers"]["decoder_passes"] == 1
    assert 1 < result["bbspg_jumps"]["decoder_passes"] <= result["bbspg_sequential"]["decoder_passes"] <= 9
    assert result["rloo"]["positions"] > 2 * result["mle"]["positions"]
    assert result["peers"] == {"trl_rloo": {"missing": "trl is not installed"}}
    assert "trl_rloo: trl is not installed" in hf.caption(result)


@pytest.mark.parametrize("family", ["bart", "marian", "t5", "gpt2"])
def test_both_likelihoods_are_the_same_loss(family: str) -> None:
    arguments = parsed("--family", family)
    ours, theirs = (Contender(name, arguments) for name in ("mle", "mle_transformers"))
    for contender in (ours, theirs):
        contender.model.eval()  # without dropout
    torch.testing.assert_close(ours.loss()[0], theirs.loss()[0], rtol=1e-4, atol=1e-4)


def test_trl_needs_a_model_without_an_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trl_peer, "find_spec", lambda name: object())
    assert "no models with an encoder" in trl_peer.missing(parsed())
    assert trl_peer.missing(parsed("--family", "gpt2")) == ""
