"""A training loop by hand: what `bangbang train` does, without its checkpoints, validations and log.

python -m examples.loop configs/headlines-docstrings.toml --set training.max_steps=200
"""

import argparse
from pathlib import Path
from typing import Any

import torch

from bangbang import config as configs
from bangbang.contracts import InputSizes, RewardInputs
from bangbang.data import prepare
from bangbang.models import Generator
from bangbang.objectives import means
from bangbang.training.learner import BatchStream, Learner
from bangbang.training.optimizer import build_optimizer, clipped_step, gradient_norm


def train(config: configs.Config) -> Generator[Any]:
    """A model for texts, trained as the config says."""
    corpus = prepare(config.data, config.vocabulary)
    stream = BatchStream(corpus.split("train"), config, rank=0, world=1, device=torch.device("cpu"))
    torch.manual_seed(config.training.seed)
    model = config.model.build(InputSizes(len(corpus.vocabulary), None, None))
    optimizer = build_optimizer(model.parameters(), config.optimizer)
    inputs = RewardInputs(corpus.vocabulary.texts(), corpus.vocabulary.joint, lambda: ())
    objective = config.objective.build(lambda: config.reward.build(inputs), config.data.max_target_length)
    learner = Learner(model, objective)
    for step in range(config.training.max_steps):
        generator = torch.Generator().manual_seed(step)
        losses, divisor, diagnostics = learner(stream.batch(step), step, generator)  # [N]: the positions that count
        losses.sum().backward()
        norm = gradient_norm(model.parameters(), 1 / divisor)  # of the mean loss
        clipped_step(optimizer, 1 / divisor, norm, config.optimizer.clip_norm)
        optimizer.zero_grad()
        if (step + 1) % config.training.log_every == 0:
            targets = "  ".join(f"{name} {value:.3f}" for name, value in means(diagnostics).items())
            print(f"step {step + 1}  loss {losses.mean().item():.3f}  {targets}")
    return model


def read_config() -> configs.Config:
    """The config that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=Path)
    parser.add_argument("--set", action="append", default=[], metavar="TABLE.KEY=VALUE")
    arguments = parser.parse_args()
    return configs.read(arguments.config, arguments.set)


if __name__ == "__main__":
    train(read_config())
