"""`MetricTrainer` in two gloo processes: weights stay the same in both, and losses are those of one large batch."""

import os
import subprocess
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file

from tests.hf.trainer_process import main

ROOT = Path(__file__).parents[2]


def test_two_processes_are_one_with_a_larger_batch(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    launch = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2")
    command = [*launch, "-m", "tests.hf.trainer_process", str(tmp_path / "two"), "1", "2"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(command, check=False, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    main(tmp_path / "one", 4, 1)
    first, second = (load_file(tmp_path / "two" / f"rank-{rank}.safetensors") for rank in (0, 1))
    assert all(torch.equal(first[key], second[key]) for key in first)
    alone = load_file(tmp_path / "one" / "rank-0.safetensors")
    torch.testing.assert_close(first["losses"][:2], alone["losses"][:2], rtol=1e-5, atol=0)
    assert int(first["scored"]) == int(alone["scored"]) == 5
