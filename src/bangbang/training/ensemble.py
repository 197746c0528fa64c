"""Several runs as one, for decoding: all that a run is, but for its model, which is an ensemble of theirs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from bangbang.errors import InputError
from bangbang.heads.combined_head import Average
from bangbang.models import Generator
from bangbang.models.ensemble import Ensemble
from bangbang.training.run import Run


class EnsembleRun(Run):
    """The first run, with the mean of all runs' distributions; its checkpoints are theirs of the same name."""

    def __init__(self, members: Sequence[Run], average: Average = "probabilities") -> None:
        first = members[0]
        super().__init__(first.folder, first.config, first.vocabulary, first.source_vocabulary, None, first.cache)
        self.members, self.average = members, average
        for other in members[1:]:
            check_alike(first, other)

    @classmethod
    def of(
        cls, folders: Sequence[Path | str], cache: Path | None = None, average: Average = "probabilities"
    ) -> "EnsembleRun":
        if len(folders) < 2:
            raise InputError(f"an ensemble has several runs; name another one beside {folders[0]}")
        return cls([Run.open(folder, cache) for folder in folders], average)

    def checkpoint_name(self, which: str = "best") -> str:
        return ", ".join(member.checkpoint_name(which) for member in self.members)

    def load_model(self, which: str = "best", device: torch.device | str = "cpu") -> Generator[Any]:
        return Ensemble([member.load_model(which, device) for member in self.members], self.average).eval()


def check_alike(first: Run, other: Run) -> None:
    """An InputError if two runs cannot write one text together."""
    pair = f"{first.folder} and {other.folder}"
    if first.fingerprints != other.fingerprints:
        raise InputError(f"{pair}: have different vocabularies, and an ensemble has one; train them on one corpus")
    if first.config.model.reads != other.config.model.reads:
        raise InputError(f"{pair}: one reads {first.config.model.reads}, the other {other.config.model.reads}")
    lengths = [run.config.data.max_source_length for run in (first, other)]
    if lengths[0] != lengths[1]:
        raise InputError(
            f"{pair}: cut their inputs to {lengths[0]} and {lengths[1]} tokens; an ensemble reads one input"
        )
