"""Every verb that decodes does so on the machine's accelerator, where there is one, and finds what the CPU finds."""

import io
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from bangbang.cli.main import main
from bangbang.decoding import decoding_device
from bangbang.models import AttentionGru, ShowAndTell
from tests.accelerator import DEVICE, accelerator
from tests.conftest import sentence

TEXTS = {
    "evaluate": ["{run}", "--json"],
    "evaluate, beam": ["{run}", "--beam", "3", "--json"],
    "evaluate, sample": ["{run}", "--method", "sample", "--json"],
    "compare": ["{run}", "{run}", "--json"],
    "report": ["{run}", "--out", "{out}", "--json"],
    "generate": ["{run}", "--nbest", "2", "--json"],
    "explain": ["{run}", "--p-drop", "0.5", "--json"],
    "explain, targets": ["{run}", "--targets", "--samples", "5", "--json"],
}
IMAGES = {
    "evaluate": ["{run}", "--json"],
    "generate": ["{run}", "--image", "{image}", "--json"],
    "explain": ["{run}", "--json"],
}


@pytest.fixture
def read_on(monkeypatch: pytest.MonkeyPatch) -> list[torch.device]:
    """Where each batch of inputs was when a model read it."""
    seen: list[torch.device] = []

    def watched(encode: Callable[..., Any]) -> Callable[..., Any]:
        def noting(self: Any, source: torch.Tensor, length: torch.Tensor) -> Any:
            seen.extend((source.device, length.device, self.head.weight.device))
            return encode(self, source, length)

        return noting

    for model in (AttentionGru, ShowAndTell):
        monkeypatch.setattr(model, "encode", watched(model.encode))
    return seen


def written(command: str, options: list[str], run: Path, image: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What the verb prints; a run keeps what a report has decoded."""
    (run / "test.json").unlink(missing_ok=True)
    words = [option.format(run=run, out=run.parent / "report", image=image) for option in options]
    lines = "".join(sentence(number)[0] + "\n" for number in range(5)).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines)))
        assert main([command.partition(",")[0], *words]) == 0
    # on CPUs products of few rows go another way than elsewhere, and round otherwise
    return re.sub(r"\d+\.\d{5,}", lambda number: f"{float(number[0]):.3f}", capsys.readouterr().out)


def check(
    command: str,
    options: list[str],
    run: Path,
    image: Path,
    read_on: list[torch.device],
    capsys: pytest.CaptureFixture[str],
) -> None:
    here = written(command, options, run, image, capsys)
    assert set(read_on) == {torch.device("cpu")}
    read_on.clear()
    with accelerator():
        assert written(command, options, run, image, capsys) == here
    assert set(read_on) == {DEVICE}


@pytest.mark.parametrize("command", TEXTS)
def test_texts(
    command: str, tiny_run: Path, tmp_path: Path, read_on: list[torch.device], capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(tiny_run, tmp_path / "run")
    check(command, TEXTS[command], tmp_path / "run", Path(), read_on, capsys)


@pytest.mark.parametrize("command", IMAGES)
def test_images(
    command: str, shapes_run: Path, read_on: list[torch.device], capsys: pytest.CaptureFixture[str]
) -> None:
    image = next((shapes_run.parent / "scenes").glob("*.png"))
    check(command, IMAGES[command], shapes_run, image, read_on, capsys)


def test_without_an_accelerator_it_is_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: False)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("cuda"))  # built for, not there
    assert decoding_device() == torch.device("cpu")
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    assert decoding_device() == torch.device("cuda")


def test_the_stand_in_refuses_what_an_accelerator_would() -> None:
    with accelerator() as device:
        far = torch.arange(3.0).to(device)
        assert far.device == device and (far * 2 + torch.tensor(1.0)).tolist() == [1.0, 3.0, 5.0]
        with pytest.raises(RuntimeError, match="some on the CPU"):
            far + torch.ones(3)
        assert (far + torch.ones(3, device=device)).cpu().device == torch.device("cpu")
