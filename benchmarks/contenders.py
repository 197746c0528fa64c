"""The training steps that `bench step` compares, on one random batch with references like headlines.

`naive` is bang-bang SPG as one would write it first: all logits of a step are computed whatever w_t is, noise over the
whole vocabulary picks every token, finished rows go on, and a second pass over the sampled tokens, with all logits
kept, gives the loss.

Shapes: B batch, T time, V vocabulary.
"""

import argparse
import math
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from bangbang import registry
from bangbang.contracts import Batch, InputSizes
from bangbang.models import Generator
from bangbang.rewards import Dup, EditDistance, Eos, References, RougeN, Sum, dense
from bangbang.rewards.state import State
from bangbang.rewards.sums import SumState
from bangbang.symbols import BOS, EOS, PAD
from bangbang.training.learner import Learner
from bangbang.training.optimizer import build_optimizer, clipped_step, gradient_norm
from bangbang.training.settings import OptimizerSettings


class UnequalState(SumState):
    def loss_weight(self) -> Tensor:
        weights, main = super().loss_weight(), self.parts[0]
        assert isinstance(main, State)
        return weights + main.t * torch.arange(len(weights), device=weights.device) / 1e5


class Unequal(Sum):
    """A sum whose rewards differ from row to row, and so do their growths: an untrained model's are mostly 0."""

    def begin(self, references: References) -> UnequalState:
        state = super().begin(references)
        return UnequalState(state.parts, state.weights)


REWARD = Unequal(RougeN(3), Dup(), Eos())
COMPLETING = Unequal(EditDistance(), Dup(), Eos())
FINISHING = ("rloo", "scst", "mrt")  # they begin with trained weights
IMAGE_FEATURES = 1280
LARGE = 10_000.0  # the paper's W
Method = Literal["mle", "bbspg", "naive", "pg", "rloo", "scst", "mrt", "ocd"]


class Contender:
    """One method: its own copy of the model and of the optimiser's state, the same batch as the others."""

    def __init__(self, name: Method, arguments: argparse.Namespace) -> None:
        self.name, self.arguments, self.settings = name, arguments, OptimizerSettings(learning_rate=1e-12)
        torch.manual_seed(arguments.seed)
        self.model = build_model(arguments)
        self.lengths = arguments.lengths or ("settled" if name in FINISHING else "cold")
        if self.lengths == "settled":
            with torch.no_grad():
                # `</s>` as likely as in a model that knows how long headlines are
                self.model.head.bias[EOS] += math.log(arguments.vocab / arguments.mean_length)
        self.optimizer = build_optimizer(self.model.parameters(), self.settings)
        self.batch = random_batch(arguments)
        kind = "bbspg" if name == "naive" else name
        given = {"p_drop": arguments.p_drop, "ends": arguments.ends, "samples": arguments.samples}
        if name == "naive" or arguments.samples is None:
            del given["samples"]
        objective = chosen("objectives", kind, **given)
        reward, self.sequences = COMPLETING if name == "ocd" else REWARD, objective.sequences
        self.learner = Learner(self.model, objective.build(lambda: reward, arguments.max_length)).train()
        self.number = 0
        self.positions: list[int] = []

    def loss(self) -> tuple[Tensor, int]:
        generator = torch.Generator().manual_seed(self.number)
        if self.name == "naive":
            return naive_loss(
                self.model, self.batch, REWARD, self.arguments.max_length, self.arguments.p_drop, generator
            )
        losses, _, diagnostics = self.learner(self.batch, 0, generator)
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


def chosen(group: str, kind: str, **given: Any) -> Any:
    """The settings of a kind, with those of the given ones that it has."""
    found = registry.find(group, kind, f"--{group}")
    return found(**{name: value for name, value in given.items() if name in registry.fields_of(found)})


def build_model(arguments: argparse.Namespace) -> Generator[Any]:
    settings = chosen("models", arguments.model, layers=arguments.layers, units=arguments.dim)
    return settings.build(InputSizes(arguments.vocab, None, IMAGE_FEATURES))


def random_batch(arguments: argparse.Namespace) -> Batch:
    """Random tokens; references of like length, as batches bucketed by length have."""
    rows, longest = arguments.batch, arguments.max_length
    generator = torch.Generator().manual_seed(arguments.seed)
    if registry.find("models", arguments.model, "--model").reads == "tokens":
        source = torch.randint(EOS + 2, arguments.vocab, (rows, arguments.source_length), generator=generator)
    else:
        source = torch.randn(rows, IMAGE_FEATURES, generator=generator)
    lengths = (arguments.mean_length + torch.randn(rows, generator=generator)).round().long().clamp(2, longest)
    target = torch.randint(EOS + 2, arguments.vocab, (rows, int(lengths.max())), generator=generator)
    place = torch.arange(target.shape[1])
    target = target.where(place < lengths[:, None] - 1, torch.where(place == lengths[:, None] - 1, EOS, PAD))
    return Batch(source, torch.full((rows,), arguments.source_length), target, lengths, target.unsqueeze(1))


def naive_loss(
    model: Generator[Any], batch: Batch, reward: Sum, max_length: int, p_drop: float, generator: torch.Generator
) -> tuple[Tensor, int]:
    """The sum of the losses of the positions with w_t ≠ 0, and the number of tokens that were decoded."""
    state = model.encode(batch.source, batch.source_length)
    rewards = reward.start(batch.target)
    last, alive = torch.full_like(batch.target[:, 0], BOS), torch.ones_like(batch.target[:, 0], dtype=torch.bool)
    tokens, counted = [], []
    with torch.no_grad():
        walk = state
        for _ in range(max_length):
            walk, features = model.step(walk, last)
            log_p = model.head.logits(features).log_softmax(1)  # [B, V]
            increments = dense(rewards.increments(), log_p.shape[1])
            kept = torch.rand(len(last), generator=generator) >= p_drop
            noise = -torch.log(-torch.log(torch.rand(log_p.shape, generator=generator)))
            last = (log_p + LARGE * increments * kept[:, None] + noise).argmax(1)
            last = last.where(alive, torch.full_like(last, PAD))
            tokens.append(last)
            counted.append(kept & alive)
            rewards.advance(last)
            alive = alive & (last != EOS)
            if not bool(alive.any()):
                break
    targets = torch.stack(tokens, 1)  # [B, T]
    reading = torch.cat((torch.full_like(targets[:, :1], BOS), targets[:, :-1]), 1)
    features = model.unroll(state, reading)
    logits = model.head.logits(features.flatten(0, 1))  # [B·T, V]
    losses = F.cross_entropy(logits, targets.flatten(), reduction="none", ignore_index=PAD).view_as(targets)
    weights = torch.stack(counted, 1) * rewards.loss_weight()[:, None]
    return (losses * weights).sum(), int((targets != PAD).sum())
