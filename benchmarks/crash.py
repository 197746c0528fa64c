"""Kill training at random moments, go on, and compare the end with a run that nobody disturbed.

    python -m benchmarks.crash --kills 50 --staged-kills 25 --hf-kills 10 --worker-kills 3

One process is killed (SIGKILL) while it starts, during steps, during validation and while it writes a checkpoint; after
each kill every checkpoint must be whole, and it goes on with --resume. A run with two stages is also killed where the
second begins, which it does with the best weights and another optimiser; so is one of a transformers model. With two
processes under `torchrun --max-restarts`, one of them is killed, and torchrun brings the run home. Weights and
optimiser state of every finished run, and of one process all of metrics.jsonl but times, must equal the undisturbed
run's to the bit. Prints JSON; the exit code is 1 if anything differs.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

VALIDATE_EVERY = 6
CONFIG = """
[data]
corpus = "{folder}/lines"
cache = "{folder}/cache"

[model]
layers = 1
units = 48
dropout = 0.2

[objective]
kind = "{objective}"

[optimizer]
kind = "adamw"
learning_rate = 0.01

[training]
batch_size = 16
max_steps = {steps}
validate_every = {validate_every}
log_every = 1
"""
STAGES = """
[[stages]]
steps = {half}
optimizer = {{kind = "adagrad", learning_rate = 0.0001}}

[[stages]]
steps = {rest}
start = "best"
objective = {{kind = "pg", samples = 2, baseline = "others"}}
"""
HF = """[vocabulary]
kind = "bpe"
size = 300
lowercase = false

[model]
kind = "hf"

[model.from_scratch]
family = "bart"
d_model = 16
encoder_layers = 1
decoder_layers = 1
encoder_attention_heads = 2
decoder_attention_heads = 2
encoder_ffn_dim = 16
decoder_ffn_dim = 16
max_position_embeddings = 128
dropout = 0.2
"""
HF_STEPS = 36  # each takes several times as long
TIMES = ("seconds", "examples_per_second")


def write_ground(folder: Path, objective: str, steps: int) -> Path:
    """A small corpus of made-up sentences, and a config to train on it."""
    lines = folder / "lines"
    lines.mkdir(parents=True)
    words = [f"word{number}" for number in range(200)]
    chance = random.Random(1)
    for split, size in (("train", 400), ("valid", 60), ("test", 5)):
        sources = [[chance.choice(words) for _ in range(chance.randint(4, 12))] for _ in range(size)]
        (lines / f"{split}.src").write_text("".join(" ".join(source) + "\n" for source in sources))
        (lines / f"{split}.tgt").write_text("".join(" ".join(source[:3]) + "\n" for source in sources))
    path = folder / "config.toml"
    path.write_text(CONFIG.format(folder=folder, steps=steps, validate_every=VALIDATE_EVERY, objective=objective))
    return path


def with_transformers(config: Path, steps: int) -> Path:
    """The same corpus in pieces of words, by a model of the transformers library, in two stages."""
    before, model, after = config.read_text().partition("[model]\nlayers = 1\nunits = 48\ndropout = 0.2\n")
    assert model
    path = config.with_name("transformers.toml")
    path.write_text(before + HF + after.replace(f"max_steps = {steps}", f"max_steps = {HF_STEPS}"))
    return with_stages(path, HF_STEPS)


def with_stages(config: Path, steps: int) -> Path:
    """The same config in two halves. The rate of the first is so low that its first validation stays the best."""
    path = config.with_name(f"staged-{config.name}")
    path.write_text(config.read_text() + STAGES.format(half=steps // 2, rest=steps - steps // 2))
    return path


def started(config: Path, run: Path) -> int:
    """Train in a process of its own, forked after the imports, which would take longer than the training."""
    pid = os.fork()
    if pid:
        return pid
    from bangbang.cli.main import main as bangbang

    with (run.parent / "log.txt").open("a") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        os._exit(bangbang(["train", str(config), "--out", str(run), "--resume"]))


def last_record(run: Path) -> dict[str, Any]:
    try:
        lines = (run / "metrics.jsonl").read_text().splitlines()
        return dict(json.loads(lines[-1])) if lines else {}
    except (FileNotFoundError, ValueError):
        return {}


def is_writing(run: Path) -> bool:
    return any((run / "checkpoints").glob(".step-*"))


def is_validating(run: Path) -> bool:
    record = last_record(run)
    return record.get("kind") == "train" and record["step"] % VALIDATE_EVERY == 0


def is_changing(run: Path) -> bool:
    """Whether the second stage has just begun."""
    record = last_record(run)
    return record.get("kind") == "stage" and record["step"] > 0


# moment aimed at → (what to wait for, seconds to wait after it, at most)
AIMS: dict[str, tuple[Callable[[Path], bool], float]] = {
    "start": (lambda run: True, 0.3),
    "step": (lambda run: bool(last_record(run)), 0.6),
    "validation": (is_validating, 0.02),
    "writing": (is_writing, 0.004),
    "stage": (is_changing, 0.01),
    "none": (lambda run: False, 0.0),
}
MOMENTS = ("start", "step", "validation", "writing")
STAGED_MOMENTS = ("start", "stage", "writing", "validation", "step")


def moment_of(run: Path, before: dict[str, Any]) -> str:
    """What a killed process was doing, by what it left."""
    if is_writing(run):
        return "writing"
    if is_validating(run):
        return "validation"
    if is_changing(run):
        return "stage"
    return "step" if last_record(run) != before else "start"


def disturb(config: Path, run: Path, aim: str, chance: random.Random) -> str:
    """One sitting: train until a random moment of this kind, then kill. Returns what was hit, or "finished"."""
    from bangbang.training import checkpoint, retention

    before, (condition, delay) = last_record(run), AIMS[aim]
    seconds = chance.uniform(0, delay)
    pid = started(config, run)
    seen = None
    while os.waitpid(pid, os.WNOHANG)[0] == 0:
        if seen is None and (aim == "start" or last_record(run) != before) and condition(run):
            seen = time.monotonic()
        if seen is not None and time.monotonic() - seen >= seconds:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            for path in retention.listed(run / "checkpoints"):
                checkpoint.read_state(path)
            return moment_of(run, before)
        time.sleep(0.002)
    return "finished"


def end_of(run: Path) -> dict[str, bytes]:
    """Weights and optimiser state of the last checkpoint, and its name; all of metrics.jsonl but times."""
    from bangbang.training import retention

    last = retention.listed(run / "checkpoints")[-1]
    files = {f"{last.name}/{path.name}": path.read_bytes() for path in last.glob("*.safetensors")}
    records = [json.loads(line) for line in (run / "metrics.jsonl").open()]
    lines = [{key: value for key, value in record.items() if key not in TIMES} for record in records]
    return {**files, "metrics.jsonl": json.dumps(lines).encode()}


def kill_single(
    folder: Path, config: Path, kills: int, chance: random.Random, moments: Sequence[str] = MOMENTS
) -> dict[str, Any]:
    """Runs of one process, killed so often altogether; all are trained to the end."""
    from bangbang.training import loop  # noqa: F401  imported once, before forking

    reference = folder / "undisturbed" / "run"
    reference.parent.mkdir(parents=True)
    if os.waitstatus_to_exitcode(os.waitpid(started(config, reference), 0)[1]):
        raise SystemExit((reference.parent / "log.txt").read_text())
    hits, ends = Counter[str](), []
    while sum(hits.values()) < kills or not ends:
        run = folder / f"disturbed-{len(ends)}" / "run"
        run.parent.mkdir()
        outcome = ""
        while outcome != "finished":
            left = kills - sum(hits.values())
            outcome = disturb(config, run, moments[left % len(moments)] if left > 0 else "none", chance)
            hits.update([outcome] if outcome != "finished" else [])
        ends.append(end_of(run) == end_of(reference))
        shutil.rmtree(run.parent)
    return {"kills": sum(hits.values()), "hits": dict(hits), "runs": len(ends), "identical": all(ends)}


def kill_workers(folder: Path, config: Path, kills: int, chance: random.Random) -> dict[str, Any]:
    """A run of two processes under torchrun: each time, one worker is killed and torchrun starts both again."""
    import psutil

    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    launch += [f"--max-restarts={kills}", "-m", "bangbang", "train", str(config), "--out"]
    log = (folder / "workers.txt").open("w")
    subprocess.run([*launch, str(folder / "pair")], check=True, stdout=log, stderr=log)
    run = folder / "pair-disturbed"
    process = subprocess.Popen([*launch, str(run)], stdout=log, stderr=log)
    for number in range(kills):
        goal = VALIDATE_EVERY * (1 + 3 * number)
        while process.poll() is None and last_record(run).get("step", 0) < goal + 1:
            time.sleep(0.001)
        time.sleep(chance.uniform(0, 0.1))
        workers = psutil.Process(process.pid).children() if process.poll() is None else []
        if workers:
            chance.choice(workers).kill()
    ended = process.wait()
    return {"kills": kills, "exit_code": ended, "identical": ended == 0 and end_of(run) == end_of(folder / "pair")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--staged-kills", type=int, default=25, help="of runs with two stages")
    parser.add_argument("--hf-kills", type=int, default=10, help="of runs with two stages and a transformers model")
    parser.add_argument("--worker-kills", type=int, default=3)
    parser.add_argument("--steps", type=int, default=120, help="of every run")
    parser.add_argument("--objective", default="mle", help="objective.kind of the run (mle)")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    arguments = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    chance = random.Random(arguments.seed)
    result: dict[str, Any] = {"seed": arguments.seed, "objective": arguments.objective}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = write_ground(folder, arguments.objective, arguments.steps)
        if arguments.kills:
            result["single"] = kill_single(folder, config, arguments.kills, chance)
        if arguments.staged_kills:
            staged, kills = with_stages(config, arguments.steps), arguments.staged_kills
            result["staged"] = kill_single(folder / "staged", staged, kills, chance, STAGED_MOMENTS)
        if arguments.hf_kills:
            staged, kills = with_transformers(config, arguments.steps), arguments.hf_kills
            result["transformers"] = kill_single(folder / "hf", staged, kills, chance, STAGED_MOMENTS)
        if arguments.worker_kills:
            result["workers"] = kill_workers(folder, config, arguments.worker_kills, chance)
    print(json.dumps(result, indent=1))
    parts = (part for part in result.values() if isinstance(part, dict))
    return 0 if all(part["identical"] for part in parts) else 1


if __name__ == "__main__":
    sys.exit(main())
