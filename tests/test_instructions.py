"""Where bfloat16 would end the process it is made safe or refused; that a CPU breaks its word is played by a child."""

import os
import platform
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from bangbang import instructions
from bangbang.cli.main import main
from bangbang.errors import InputError
from bangbang.instructions import LIMIT, TRIAL, VARIABLE, claims_bfloat16, failure, secure, secure_bfloat16, survives
from bangbang.products import onednn_linear

DIE = "import os, signal; os.kill(os.getpid(), signal.SIGILL)"
FINE = (sys.executable, "-c", "")
ALWAYS_DIES = (sys.executable, "-c", DIE)
DIES_WITHOUT_LIMIT = (sys.executable, "-c", f"import os\nif os.environ.get({VARIABLE!r}) != {LIMIT!r}:\n    {DIE}")


@pytest.fixture(params=[None, "AVX512_CORE_AMX"])
def limit(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """What the environment says beforehand; after the test it is as it was."""
    monkeypatch.setenv(VARIABLE, request.param or "")
    if request.param is None:
        monkeypatch.delenv(VARIABLE)
    return request.param


def test_a_cpu_that_keeps_its_word_is_left_alone(limit: str | None, capfd: pytest.CaptureFixture[str]) -> None:
    secure(FINE, works_here=lambda: limit is not None)  # without a limit there is nothing to heed
    assert os.environ.get(VARIABLE) == limit
    assert capfd.readouterr() == ("", "")


def test_a_limit_that_somebody_else_set_too_late_does_not_deceive(limit: str | None) -> None:
    os.environ[VARIABLE] = LIMIT
    with pytest.raises(InputError, match="in use already"):
        secure(DIES_WITHOUT_LIMIT, works_here=lambda: False)
    assert os.environ[VARIABLE] == LIMIT


def test_one_that_does_not_is_kept_from_amx_and_that_is_said_in_a_line(
    limit: str | None, capfd: pytest.CaptureFixture[str]
) -> None:
    heeded = []
    secure(DIES_WITHOUT_LIMIT, works_here=lambda: heeded.append(os.environ[VARIABLE]) is None)
    assert os.environ[VARIABLE] == LIMIT and heeded == [LIMIT]
    out, error = capfd.readouterr()
    assert out == "" and error.count("\n") == 1 and error.endswith(f"without AMX ({VARIABLE}={LIMIT})\n")


def test_of_several_processes_of_a_host_one_says_it(
    limit: str | None, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_RANK", "1")
    secure(DIES_WITHOUT_LIMIT, works_here=lambda: True)
    assert os.environ[VARIABLE] == LIMIT and capfd.readouterr() == ("", "")


def test_bfloat16_is_refused_if_it_dies_all_the_same(limit: str | None) -> None:
    with pytest.raises(InputError, match=r"bf16: .* \(Illegal instruction\); use training\.mixed_precision=no$"):
        secure(ALWAYS_DIES, works_here=lambda: True)
    assert os.environ.get(VARIABLE) == limit


def test_bfloat16_is_refused_if_it_is_too_late_for_a_limit(limit: str | None) -> None:
    for _ in range(2):  # the first time must not hide the trouble from the second
        with pytest.raises(InputError, match=f"in use already; set {VARIABLE}={LIMIT} before Python starts"):
            secure(DIES_WITHOUT_LIMIT, works_here=lambda: False)
        assert os.environ.get(VARIABLE) == limit


@pytest.mark.usefixtures("bfloat16")
def test_the_trial_itself_works() -> None:
    assert failure(TRIAL, {}) == ""
    assert instructions.multiplies_here()


def test_the_trial_does_not_take_a_module_of_the_current_folder_for_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torch.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    assert failure((sys.executable, *TRIAL[1:-1], "import torch; torch.mm"), {}) == ""


def test_how_a_command_fails() -> None:
    assert failure((sys.executable, "-c", "raise SystemExit(3)"), {}) == "exit code 3"
    assert failure(ALWAYS_DIES, {}) == "Illegal instruction"
    assert failure(DIES_WITHOUT_LIMIT, {VARIABLE: LIMIT}) == ""


def test_what_would_end_this_process_ends_a_copy(capfd: pytest.CaptureFixture[str]) -> None:
    def die() -> None:
        signal.signal(signal.SIGILL, signal.SIG_DFL)  # pytest's own handler would print a traceback
        os.kill(os.getpid(), signal.SIGILL)

    assert survives(lambda: None)
    assert not survives(die)
    assert not survives(lambda: os._exit(3))


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("processor : 0\nflags\t\t: fpu sse2 avx512_bf16 amx_bf16 amx_tile\nbugs : x\n", True),
        ("flags\t\t: fpu sse2 amx_tile\n", True),
        ("Features\t: fp asimd bf16\n", True),
        ("model name\t: amx\nflags\t\t: fpu sse2 avx2\n", False),
        ("Features\t: fp asimd\n", False),
        ("cpu : POWER9\n", True),
        (None, True),
    ],
)
def test_only_a_cpu_that_claims_nothing_needs_no_trial(text: str | None, claims: bool, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "cpuinfo").write_text(text)
    assert claims_bfloat16(tmp_path / "cpuinfo") == claims


@pytest.mark.skipif(onednn_linear is None or platform.machine() not in ("x86_64", "AMD64"), reason="no oneDNN for x86")
@pytest.mark.parametrize("used", [False, True])
def test_onednn_heeds_a_limit_that_is_set_before_it_is_used(used: bool) -> None:
    """What all of this relies on: training has not used oneDNN by the time it sets the limit."""
    code = f"""
import os, torch
from accelerate import Accelerator
import bangbang.training
Accelerator(cpu=True, mixed_precision="bf16")
if {used}:
    torch.ones(64, 64) @ torch.ones(64, 64)
os.environ[{VARIABLE!r}] = "SSE41"
torch.ops.mkldnn._linear_pointwise(torch.ones(64, 64), torch.ones(64, 64), None, "none", [], "")
"""
    environment = {key: value for key, value in os.environ.items() if key != VARIABLE} | {"ONEDNN_VERBOSE": "all"}
    told = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
    assert "isa:Intel" in told.stdout and ("isa:Intel SSE4.1" in told.stdout) != used


@pytest.mark.skipif(torch.accelerator.is_available(), reason="bfloat16 is not the CPU's here")
def test_training_in_bfloat16_is_refused_in_one_line_and_other_training_pays_nothing(
    tiny_config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    secure_bfloat16.cache_clear()
    monkeypatch.setattr(instructions, "claims_bfloat16", lambda: True)
    monkeypatch.setattr(instructions, "TRIAL", ALWAYS_DIES)
    train = ["train", str(tiny_config), "--set", "training.max_steps=1", "--out", str(tmp_path / "run")]
    assert main([*train, "--set", "training.mixed_precision=bf16"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("bangbang: error: training.mixed_precision=bf16: ") and error.count("\n") == 1
    assert not (tmp_path / "run").exists()
    monkeypatch.delattr(instructions, "TRIAL")
    assert main(train) == 0
