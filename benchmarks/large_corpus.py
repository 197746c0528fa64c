"""Millions of generated pairs: memory and time to prepare them, and to train on them beside a small corpus.

    python -m benchmarks.large_corpus --folder /big/disk --pairs 6000000

Writes parallel text of made-up words in the proportions of headlines (28 → 7 words, Zipf-distributed), prepares it with
`bangbang data`, interrupts that once on the way with SIGKILL, and takes a few training steps on it and on 10,000 pairs.
Every command is a process of its own, whose peak resident memory the system reports. Prints JSON:

prepare.peak_mb             peak resident memory of the preparation, both sittings (goal: below 2,000)
train.peak_above_small_mb   the same of training, minus that of training on 10,000 pairs (goal: below 300)
train.first_step_seconds    from starting the command to the first line of metrics.jsonl (goal: below 20)
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SMALL = 10_000
WORDS = 200_000
CHUNK = 20_000
CONFIG = """
[data]
corpus = "{corpus}"

[vocabulary]
size = 10_000
split = "whitespace"

[model]
layers = 1
units = 64

[optimizer]
kind = "adamw"

[training]
batch_size = 64
max_steps = {steps}
validate_every = {steps}
validation_examples = 64
log_every = 1
"""


def generate(folder: Path, sizes: dict[str, int]) -> None:
    """Parallel text files, a few thousand lines at a time; files of the right size are kept."""
    folder.mkdir(parents=True, exist_ok=True)
    words = np.array([f"w{number:x}" for number in range(WORDS)], dtype=object)
    rng = np.random.default_rng(1)
    for split, size in sizes.items():
        done = folder / f".{split}-{size}"
        if done.exists():
            continue
        with (folder / f"{split}.src").open("w") as source, (folder / f"{split}.tgt").open("w") as target:
            for start in range(0, size, CHUNK):
                for file, mean in ((source, 28), (target, 7)):
                    lengths = np.maximum(1, rng.poisson(mean, min(CHUNK, size - start)))
                    drawn = words[np.minimum(rng.zipf(1.2, lengths.sum()), WORDS) - 1]
                    pieces = np.split(drawn, np.cumsum(lengths)[:-1])
                    file.write("".join(" ".join(piece) + "\n" for piece in pieces))
        done.touch()


def bangbang(folder: Path, *arguments: str, until: Callable[[], bool] = lambda: False) -> dict[str, Any]:
    """Run a command; its peak memory, its seconds, and when `until` first held. With `--kill`, it ends there."""
    kill = "--kill" in arguments
    command = [sys.executable, "-m", "bangbang", *(one for one in arguments if one != "--kill")]
    began = time.monotonic()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    held = None
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if held is None and until():
            held = time.monotonic() - began
            if kill:
                os.kill(process.pid, signal.SIGKILL)
        if pid:
            break
        time.sleep(0.02)
    if os.waitstatus_to_exitcode(status) not in (0, -signal.SIGKILL if kill else 0):
        raise SystemExit(f"failed: {' '.join(command)}")
    return {"peak_mb": usage.ru_maxrss / 1024, "seconds": time.monotonic() - began, "held_after": held}


def train(folder: Path, name: str, steps: int) -> dict[str, Any]:
    """Some steps on a prepared corpus."""
    (folder / f"{name}.toml").write_text(CONFIG.format(corpus=name, steps=steps))
    run = folder / f"run-{name}"
    shutil.rmtree(run, ignore_errors=True)
    lines = run / "metrics.jsonl"
    until = lambda: lines.exists() and lines.stat().st_size > 0  # noqa: E731
    return bangbang(folder, "train", f"{name}.toml", "--out", run.name, until=until)


def measure(folder: Path, pairs: int, steps: int) -> dict[str, Any]:
    for name, size in (("small", SMALL), ("large", pairs)):
        generate(folder / name, {"train": size, "valid": 1_000, "test": 1_000})
        (folder / f"{name}.toml").write_text(CONFIG.format(corpus=name, steps=steps))
    shutil.rmtree(folder / "corpora", ignore_errors=True)
    bangbang(folder, "data", "small.toml")
    encoded = lambda: len(list((folder / "corpora").glob(".large*/train/*.arrow.json"))) >= max(1, pairs // 200_000)  # noqa: E731
    killed = bangbang(folder, "data", "large.toml", "--kill", until=encoded)
    resumed = bangbang(folder, "data", "large.toml")
    small, large = train(folder, "small", steps), train(folder, "large", steps)
    return {
        "pairs": pairs,
        "prepare": {
            "peak_mb": max(killed["peak_mb"], resumed["peak_mb"]),
            "seconds_until_killed": killed["seconds"],
            "seconds_after": resumed["seconds"],
        },
        "train": {
            "steps": steps,
            "small_peak_mb": small["peak_mb"],
            "peak_mb": large["peak_mb"],
            "peak_above_small_mb": large["peak_mb"] - small["peak_mb"],
            "first_step_seconds": large["held_after"],
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("runs/large-corpus"), help="where everything is put")
    parser.add_argument("--pairs", type=int, default=6_000_000)
    parser.add_argument("--steps", type=int, default=200)
    arguments = parser.parse_args()
    print(json.dumps(measure(arguments.folder.resolve(), arguments.pairs, arguments.steps), indent=1))


if __name__ == "__main__":
    main()
