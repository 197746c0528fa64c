"""The losses and gradient norms of 30 steps of every objective on both tasks, to the last bit.

A change of shape must not change what is trained. Record before it, record after it, compare:

  python -m benchmarks.recorded_steps before.json
  python -m benchmarks.recorded_steps after.json --against before.json

Numbers are those of one machine: another CPU, thread count or torch rounds otherwise.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import torch

from bangbang import config as configs
from bangbang.config import Config
from bangbang.corpora.shapes import draw_corpus
from bangbang.training import train
from tests.conftest import write_corpus

STEPS = 30
SHARED = (
    "model.units=32",
    "model.dropout=0.2",
    "optimizer.kind=adamw",
    "optimizer.learning_rate=0.01",
    "optimizer.weight_decay=0.1",
    "training.batch_size=24",
    f"training.max_steps={STEPS}",
    f"training.validate_every={STEPS}",
    "training.log_every=1",
)
OBJECTIVES = {
    "mle": ("objective.kind=mle",),
    "raml": ("objective.kind=raml",),
    "raml-2": ("objective.kind=raml", "objective.samples=2"),
    "raml-reward": ("objective.kind=raml", "objective.payoff=reward"),
    "pg": ("objective.kind=pg",),
    "pg-others": ("objective.kind=pg", "objective.samples=3", "objective.baseline=others"),
    "spg": ("objective.kind=spg", "objective.reward_weight=30"),
    "bbspg": ("objective.kind=bbspg",),
    "bbspg-finite": ("objective.kind=bbspg", "objective.reward_weight=100"),
    "bbspg-reference": ("objective.kind=bbspg", "objective.ties=reference", "objective.ends=reference"),
    "bbspg-cool": ("objective.kind=bbspg", "objective.temperature=0.7", "objective.top_k=20"),
    "bbspg-rising": ("objective.kind=bbspg", "objective.p_drop_delay=5", "objective.p_drop_rise=10"),
    "bbspg-plain": ("objective.kind=bbspg", "objective.samples=2", "objective.weight_by_reward=false"),
    "bbspg-length": ("objective.kind=bbspg", "reward.length=1", "reward.dup_unless_in_reference=true"),
    "bbspg-all": ("objective.kind=bbspg", "data.all_references=true", "reward.several=best"),
    "bbspg-rouge-l": ("objective.kind=bbspg", "reward.kind=rouge-l"),
    "bbspg-bleu": ("objective.kind=bbspg", "reward.kind=bleu", "reward.max_n=4"),
    "bbspg-gleu": ("objective.kind=bbspg", "reward.kind=gleu", "reward.max_n=4"),
    "bbspg-cider-d": ("objective.kind=bbspg", "reward.kind=cider-d", "reward.max_n=4"),
    "bbspg-edit-distance": ("objective.kind=bbspg", "reward.kind=edit-distance"),
}


def tasks(folder: Path) -> dict[str, tuple[str, ...]]:
    """The settings of each task, on corpora of our own."""
    write_corpus(folder / "pairs", {"train": 300, "valid": 8, "test": 8})
    draw_corpus(folder / "scenes", {"train": 200, "valid": 8, "test": 8})
    cache = f"data.cache={json.dumps(str(folder / 'cache'))}"
    return {
        "headlines": (f"data.corpus={json.dumps(str(folder / 'pairs'))}", cache, "model.layers=2"),
        "captions": (
            f"data.corpus={json.dumps(str(folder / 'scenes'))}",
            cache,
            "model.kind=show_and_tell",
            "model.layers=1",
            "vocabulary.split=bare-words",
            "training.metric=cider-d",
        ),
    }


def record(folder: Path, names: list[str]) -> dict[str, list[list[float]]]:
    """[loss, gradient norm] of each step, by task and objective."""
    found = {}
    for task, settings in tasks(folder).items():
        for name in names:
            config = configs.override(Config(), [*SHARED, *settings, *OBJECTIVES[name]])
            run = folder / f"{task}-{name}"
            train(config, run)
            lines = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
            rows = [[line["loss"], line["gradient_norm"]] for line in lines if line["kind"] == "train"]
            found[f"{task} {name}"] = rows
            print(f"{task} {name}: loss {rows[0][0]:.4f} to {rows[-1][0]:.4f}", file=sys.stderr)
    return found


def differences(one: dict[str, list[list[float]]], other: dict[str, list[list[float]]]) -> list[str]:
    """A line for each recording that is not equal to the bit."""
    told = []
    for name in one:
        if name not in other:
            told.append(f"{name}: only in one of them")
        elif one[name] != other[name]:
            pairs = zip(one[name], other[name], strict=True)
            step, (ours, theirs) = next((n, pair) for n, pair in enumerate(pairs) if pair[0] != pair[1])
            told.append(f"{name}: differs from step {step} on: {ours} and {theirs}")
    return told


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="the recording, as JSON")
    parser.add_argument("--against", type=Path, help="an earlier recording to compare with")
    parser.add_argument("--objectives", nargs="+", choices=list(OBJECTIVES), default=list(OBJECTIVES))
    arguments = parser.parse_args(argv)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        found = record(Path(folder), arguments.objectives)
    arguments.out.write_text(json.dumps(found, indent=1) + "\n")
    if arguments.against is None:
        return 0
    told = differences(found, json.loads(arguments.against.read_text()))
    print("\n".join(told) or f"all {len(found)} recordings are equal to the bit")
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
