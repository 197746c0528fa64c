"""The training steps that `bench step` compares, on one random batch with references like headlines."""

import argparse
import math
from typing import Literal

import torch
from torch import Tensor

from benchmarks.naive import naive_loss
from bangbang.config import ModelConfig, ObjectiveConfig, OptimizerConfig
from bangbang.data import Batch
from bangbang.models import AttentionGru, ShowAndTell
from bangbang.objectives import Objective
from bangbang.rewards import Dup, Eos, RougeN, Sum
from bangbang.symbols import EOS, PAD
from bangbang.training.clipping import clipped_step, gradient_norm
from bangbang.training.learner import Learner
from bangbang.training.optimizer import build_optimizer

REWARD = Sum(RougeN(3), Dup(), Eos())
IMAGE_FEATURES = 1280
Method = Literal["mle", "bbspg", "naive", "pg"]


class Contender:
    """One method: its own copy of the model and of the optimiser's state, the same batch as the others."""

    def __init__(self, name: Method, arguments: argparse.Namespace) -> None:
        self.name, self.arguments, self.settings = name, arguments, OptimizerConfig(learning_rate=1e-12)
        torch.manual_seed(arguments.seed)
        self.model = build_model(arguments)
        if arguments.lengths == "settled":
            with torch.no_grad():
                # `</s>` as likely as in a model that knows how long headlines are
                self.model.head.bias[EOS] += math.log(arguments.vocab / arguments.mean_length)
        self.optimizer = build_optimizer(self.model.parameters(), self.settings)
        self.batch = random_batch(arguments)
        kind: Literal["mle", "bbspg", "pg"] = "bbspg" if name == "naive" else name
        objective = ObjectiveConfig(kind=kind, p_drop=arguments.p_drop, ends=arguments.ends)
        self.learner = Learner(self.model, Objective(objective, REWARD, arguments.max_length)).train()
        self.number = 0
        self.positions: list[int] = []

    def loss(self) -> tuple[Tensor, int]:
        generator = torch.Generator().manual_seed(self.number)
        if self.name == "naive":
            return naive_loss(
                self.model, self.batch, REWARD, self.arguments.max_length, self.arguments.p_drop, generator
            )
        losses, diagnostics = self.learner(self.batch, 0, generator)
        return losses.sum(), diagnostics.sample_tokens

    def step(self) -> None:
        loss, positions = self.loss()
        torch.autograd.backward(loss)
        norm = gradient_norm(self.model.parameters(), 1 / positions)
        clipped_step(self.optimizer, 1 / positions, norm, self.settings.clip_norm)
        self.optimizer.zero_grad(set_to_none=True)
        self.positions.append(positions)
        self.number += 1

    def positions_per_step(self) -> float:
        return sum(self.positions) / len(self.positions)


def build_model(arguments: argparse.Namespace) -> AttentionGru | ShowAndTell:
    config = ModelConfig(kind=arguments.model, layers=arguments.layers, units=arguments.dim)
    if config.kind == "attention_gru":
        return AttentionGru(arguments.vocab, config)
    return ShowAndTell(arguments.vocab, IMAGE_FEATURES, config)


def random_batch(arguments: argparse.Namespace) -> Batch:
    """Random tokens; references of like length, as batches bucketed by length have."""
    rows, longest = arguments.batch, arguments.max_length
    generator = torch.Generator().manual_seed(arguments.seed)
    if arguments.model == "attention_gru":
        source = torch.randint(EOS + 2, arguments.vocab, (rows, arguments.source_length), generator=generator)
    else:
        source = torch.randn(rows, IMAGE_FEATURES, generator=generator)
    lengths = (arguments.mean_length + torch.randn(rows, generator=generator)).round().long().clamp(2, longest)
    target = torch.randint(EOS + 2, arguments.vocab, (rows, int(lengths.max())), generator=generator)
    place = torch.arange(target.shape[1])
    target = target.where(place < lengths[:, None] - 1, torch.where(place == lengths[:, None] - 1, EOS, PAD))
    return Batch(source, torch.full((rows,), arguments.source_length), target, lengths, target.unsqueeze(1))
