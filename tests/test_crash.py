"""benchmarks/crash.py in a small form: runs killed at all kinds of moments end as undisturbed ones do."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_a_killed_run_goes_on_to_the_same_weights() -> None:
    command = [sys.executable, "-m", "benchmarks.crash", "--kills", "4", "--staged-kills", "2", "--worker-kills", "0"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(
        [*command, "--steps", "30", "--seed", "1"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr + ended.stdout
    found = json.loads(ended.stdout)
    assert found["single"]["kills"] == 4 and found["staged"]["kills"] == 2
