"""What a training step needs: batches by step number, the model with its objective as one module, the reward."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from bangbang import memory
from bangbang.config import Config, Leg
from bangbang.contracts import Batch, Diagnostics, Model, Objective, Reward, RewardInputs, Writing
from bangbang.data import Split, batches
from bangbang.errors import InputError
from bangbang.metrics.words import word_reader
from bangbang.objectives import scored_losses
from bangbang.rewards.settings import RewardSettings
from bangbang.training.run import Run


class BatchStream:
    """The batches of a run: those of a step are a function of (seed, step, rank) and its stage's batch size."""

    def __init__(self, split: Split, config: Config, rank: int, world: int, device: torch.device) -> None:
        self.split, self.config, self.rank, self.world, self.device = split, config, rank, world, device
        if split.examples < world:
            raise InputError(f"{split.examples} training examples are too few for {world} processes")
        self.ordered: tuple[int, int] | None = None  # the epoch and the batch size of `order`

    def steps_per_epoch(self, leg: Leg) -> int:
        return max(1, self.split.examples // (leg.batch_size * self.world))

    def epochs(self, step: int) -> float:
        """How often so many steps have gone over the split."""
        legs = (leg for leg in self.config.legs if leg.first_step < step)
        return sum((min(step, leg.end) - leg.first_step) / self.steps_per_epoch(leg) for leg in legs)

    def batch(self, step: int) -> Batch:
        """This process's batch of step 0, 1, ..."""
        leg = self.config.leg_at(step)
        epoch, place = divmod(step, self.steps_per_epoch(leg))
        if self.ordered != (epoch, leg.batch_size):
            self.ordered = epoch, leg.batch_size
            seed = self.config.training.seed
            self.order = batches(self.split, leg.batch_size, seed, epoch, self.rank, self.world)
        tensors = self.split.batch(self.order[place], leg.all_references)
        return Batch(*(tensor.to(self.device) for tensor in tensors))


def check_memory(examples: int, config: Config) -> None:
    """An InputError if the targets of a step, B·J·T tokens, cannot fit into the machine."""
    length = config.data.max_target_length
    for leg in config.legs:
        together = min(examples, leg.batch_size)
        each = leg.objective.sequences
        what = f"a step of {each:,} sequences for each of {together:,} examples"
        needed = together * each * length * memory.SAMPLED_TOKEN
        memory.require(needed, what, "lower objective.samples or the batch size")


class Loss(NamedTuple):
    losses: Tensor  # [N] of the positions that count, not yet reduced
    divisor: float
    """What their sum is divided by, here and now; processes add theirs up."""
    diagnostics: Diagnostics


class Learner(nn.Module):
    def __init__(self, model: Model[Any], objective: Objective) -> None:
        super().__init__()
        self.model, self.objective = model, objective

    def forward(self, batch: Batch, step: int, generator: torch.Generator) -> Loss:
        proposal = self.objective.propose(self.model, batch, step, generator)
        losses, diagnostics = scored_losses(self.model.head, proposal)
        return Loss(losses, len(losses) if proposal.divisor is None else proposal.divisor, diagnostics)


ROWS = 2_000  # at a time: the references of a large corpus do not fit in memory


def run_reward(run: Run, settings: RewardSettings, train: Callable[[], Split]) -> Reward:
    """The reward of a [reward] table; `train` gives the training split, which few rewards ask for, when they begin."""
    return settings.build(reward_inputs(run, train))


def reward_inputs(run: Run, train: Callable[[], Split]) -> RewardInputs:
    vocabulary = run.vocabulary
    writing = Writing(lambda rows: [vocabulary.decode(row) for row in rows], vocabulary.encode, word_reader)
    return RewardInputs(vocabulary.texts(), vocabulary.joint, lambda: training_references(run, train()), writing)


def training_references(run: Run, split: Split) -> Iterator[list[list[str]]]:
    """The tokens of each example's references as training sees them: cut to the run's length."""
    tokens, most = run.vocabulary.texts(), run.config.data.max_target_length - 1  # room for `</s>`
    for start in range(0, len(split), ROWS):
        examples = list(split.references(slice(start, start + ROWS)))
        encoded = iter(run.vocabulary.encode_batch([text for texts in examples for text in texts]))
        for texts in examples:
            yield [[tokens[index] for index in next(encoded)[:most]] for _ in texts]
