"""benchmarks/crash.py in a small form: a run killed at four kinds of moments ends as an undisturbed one does."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_a_killed_run_goes_on_to_the_same_weights() -> None:
    command = [sys.executable, "-m", "benchmarks.crash", "--kills", "4", "--worker-kills", "0", "--steps", "30"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(
        [*command, "--seed", "1"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr + ended.stdout
    assert json.loads(ended.stdout)["single"]["kills"] == 4
