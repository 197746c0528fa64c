"""The batches of a run by step number, whatever step it starts from."""

import torch

from bangbang.contracts import Batch
from bangbang.data import Split, batches
from bangbang.errors import InputError
from bangbang.training.settings import TrainingSettings


class BatchStream:
    def __init__(self, split: Split, config: TrainingSettings, rank: int, world: int, device: torch.device) -> None:
        self.split, self.config, self.rank, self.world, self.device = split, config, rank, world, device
        if split.examples < world:
            raise InputError(f"{split.examples} training examples are too few for {world} processes")
        self.steps_per_epoch = max(1, split.examples // (config.batch_size * world))
        self.epoch = -1

    def batch(self, step: int) -> Batch:
        """This process's batch of step 0, 1, ..."""
        epoch, place = divmod(step, self.steps_per_epoch)
        if epoch != self.epoch:
            self.epoch = epoch
            self.order = batches(self.split, self.config.batch_size, self.config.seed, epoch, self.rank, self.world)
        return Batch(*(tensor.to(self.device) for tensor in self.split.batch(self.order[place])))
