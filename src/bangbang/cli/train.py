"""Train a model as a config says. The run folder gets the config, the vocabulary, checkpoints, metrics and samples.

examples:
  bangbang train configs/headlines-docstrings.toml --out runs/docstrings
  bangbang train configs/headlines-debian.toml --out runs/debian --set training.max_steps=500 --set model.units=128
  bangbang train --resume --out runs/debian
  bangbang train configs/headlines-debian.toml --set objective.kind=bbspg --set objective.p_drop=0.4 --out runs/spg
  bangbang train configs/headlines-debian.toml --set objective.kind=pg --init runs/debian --out runs/pg
  tensorboard --logdir runs/debian/tensorboard
  torchrun --nproc_per_node 2 -m bangbang train configs/headlines-debian.toml --out runs/debian

Ctrl-C or SIGTERM ends after the current step with a checkpoint, a second one ends at once; --resume goes on from the
newest whole checkpoint as if nothing had happened. Several processes and machines: docs/scale.md.
"""

import argparse
import json
import os
import shlex
from pathlib import Path

from bangbang.cli.changes import add_changes
from bangbang.cli.numbers import whole
from bangbang.cli.streams import print_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", nargs="?", type=Path, help="a TOML file; with --resume, the run's own if left out")
    parser.add_argument("--out", type=Path, required=True, metavar="RUN", help="the run folder")
    add_changes(parser, "change a setting of the config")
    parser.add_argument("--resume", action="store_true", help="go on from the newest checkpoint, if there is one")
    parser.add_argument("--init", type=Path, metavar="RUN", help="start from another run's best weights")
    parser.add_argument(
        "--end-with-parent",
        type=whole(1),
        metavar="PID",
        help="end, as on SIGTERM, when process PID, which started it, is gone",
    )
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")


def run(arguments: argparse.Namespace) -> int:
    from bangbang import config as configs
    from bangbang import consent
    from bangbang.errors import InputError

    path = arguments.config
    if path is None:
        if not arguments.resume:
            raise InputError("a config file is needed, such as configs/headlines-docstrings.toml (or --resume)")
        path = arguments.out / "config.toml"
        if not path.is_file():
            from bangbang.training.run import no_run

            raise InputError(f"{arguments.out}: nothing to go on with: not a run{no_run(arguments.out)}")
    start = [f"training.init={json.dumps(str(arguments.init))}"] if arguments.init else []
    config = configs.read(path, [*arguments.set, *start], old=arguments.config is None)

    from bangbang.tasks import shown
    from bangbang.training import train
    from bangbang.training.distributed import leave
    from bangbang.training.stopping import end_with_parent

    if arguments.end_with_parent:
        end_with_parent(arguments.end_with_parent)
    outcome = train(config, arguments.out, arguments.resume, consent.for_config(path, arguments.set))
    leave()
    progress = outcome.progress
    if not outcome.is_main:
        return 0
    if arguments.json:
        print_json({"run": str(outcome.run.folder), "interrupted": outcome.interrupted, **progress._asdict()})
        return 0
    metric = config.metric
    print(f"{outcome.run.folder}: step {progress.step}, {progress.seconds / 60:.1f} minutes of training")
    if progress.has_best:
        print(f"best validation {metric} {shown(metric, progress.best_score)} at step {progress.best_step}")
    if outcome.interrupted:
        print(f"interrupted; go on with: {resume_line(outcome.run.folder)}")
    return 0


def resume_line(folder: Path) -> str:
    """The command that goes on with the run, with as many processes as now; in words where they are on several hosts,
    as no process knows how these were told to meet."""
    here, everywhere = (os.environ.get(name, "1") for name in ("LOCAL_WORLD_SIZE", "WORLD_SIZE"))
    if here != everywhere:
        return "the same command on every host, with --resume"
    program = "bangbang" if here == "1" else f"torchrun --nproc_per_node {here} -m bangbang"
    return f"{program} train --resume --out {shlex.quote(str(folder))}"
