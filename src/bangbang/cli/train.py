"""Train a model as a config says. The run folder gets the config, the vocabulary, checkpoints, metrics and samples.

examples:
  bangbang train configs/headlines-docstrings.toml --out runs/docstrings
  bangbang train configs/headlines-debian.toml --out runs/debian --set training.max_steps=500 --set model.units=128
  bangbang train --resume --out runs/debian
  bangbang train configs/headlines-debian.toml --set objective.kind=bbspg --set objective.p_drop=0.4 --out runs/spg
  bangbang train configs/headlines-debian.toml --set objective.kind=pg --init runs/debian --out runs/pg
  tensorboard --logdir runs/debian/tensorboard

Ctrl-C ends after the current step with a checkpoint; --resume goes on from there as if nothing had happened.
"""

import argparse
import json
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", nargs="?", type=Path, help="a TOML file; with --resume, the run's own if left out")
    parser.add_argument("--out", type=Path, required=True, metavar="RUN", help="the run folder")
    parser.add_argument(
        "--set", action="append", default=[], metavar="TABLE.KEY=VALUE", help="change a setting of the config"
    )
    parser.add_argument("--resume", action="store_true", help="go on from the newest checkpoint, if there is one")
    parser.add_argument("--init", type=Path, metavar="RUN", help="start from another run's best weights")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")


def run(arguments: argparse.Namespace) -> int:
    from bangbang import config as configs
    from bangbang.errors import InputError

    path = arguments.config
    if path is None:
        if not arguments.resume:
            raise InputError("a config file is needed, such as configs/headlines-docstrings.toml (or --resume)")
        path = arguments.out / "config.toml"
    start = [f"training.init={json.dumps(str(arguments.init))}"] if arguments.init else []
    config = configs.read(path, [*arguments.set, *start])

    from bangbang.training import train
    from bangbang.training.scoring import shown

    outcome = train(config, arguments.out, arguments.resume)
    progress = outcome.progress
    if arguments.json:
        print(json.dumps({"run": str(outcome.run.folder), "interrupted": outcome.interrupted, **progress._asdict()}))
        return 0
    metric = config.training.metric
    print(f"{outcome.run.folder}: step {progress.step}, {progress.seconds / 60:.1f} minutes of training")
    if progress.best_step:
        print(f"best validation {metric} {shown(metric, progress.best_score)} at step {progress.best_step}")
    if outcome.interrupted:
        print(f"interrupted; go on with: bangbang train --resume --out {outcome.run.folder}")
    return 0
