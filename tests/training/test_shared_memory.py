"""Gradients averaged through shared memory: as gloo does it, and only where all processes see the same memory."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from bangbang.training import shared_memory
from bangbang.training.distributed import Ranks
from bangbang.training.shared_memory import SharedMemory, opened, reserved

SCRIPT = Path(__file__).with_name("shared_memory_processes.py")


@pytest.mark.parametrize("case", ["here", "elsewhere"])
def test_three_processes_have_the_mean_of_all_or_leave_it_to_gloo(case: str, tmp_path: Path) -> None:
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "3"]
    command = [*launch, str(SCRIPT), str(tmp_path), case]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.count("well") == 3, done.stderr


def test_memory_is_written_and_read() -> None:
    name = reserved(100)
    if name is None:
        pytest.skip("no memory to share on this machine")
    first, second = opened(name), opened(name)
    assert first is not None and second is not None
    first[7] = 5
    assert second[7] == 5
    Path(name).unlink()
    first[8] = 6
    assert second[8] == 6, "it outlives its name"


def test_without_a_folder_or_room_or_file_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert opened(str(tmp_path / "nowhere")) is None
    monkeypatch.setattr(shared_memory, "FOLDER", tmp_path)
    assert reserved(2**62) is None
    assert list(tmp_path.glob("*")) == [], "nothing is left behind"
    monkeypatch.setattr(shared_memory, "FOLDER", tmp_path / "missing")
    assert reserved(10) is None


@pytest.mark.parametrize(("count", "device"), [(1, "cpu"), (2, "meta")])
def test_one_process_or_another_device_shares_nothing(count: int, device: str) -> None:
    ranks = Ranks.__new__(Ranks)
    ranks.rank, ranks.count, ranks.is_main, ranks.device = 0, count, True, torch.device(device)
    assert SharedMemory.of(ranks, 100) is None
