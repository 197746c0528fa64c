"""A model: the mean of the input words' vectors starts a GRU that reads the output so far.

Known tokens step by step, samples in two passes and the rest come with `Generator`.

Shapes: B batch, S source length, H units.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from bangbang.contracts import InputSizes
from bangbang.heads import VocabularyHead
from bangbang.models import Generator, TensorState
from bangbang.models.settings import ModelSettings


@dataclass(frozen=True)
class BagOfWordsSettings(ModelSettings):
    """A GRU that starts from the mean of the input words' vectors."""

    units: int = 64
    """Size of the state and of the vectors."""

    def __post_init__(self) -> None:
        self.require(units=(self.units >= 1, "at least 1"))

    def build(self, sizes: InputSizes) -> "BagOfWords":
        return BagOfWords(sizes.vocabulary, sizes.source_vocabulary or sizes.vocabulary, self.units)


@dataclass(frozen=True)
class BagState(TensorState):
    hidden: Tensor  # [B, H]


class BagOfWords(Generator[BagState]):
    """h_0 = tanh(S · mean_s E x_s), h_t = GRU(E z_{t-1}, h_{t-1}), z_t ~ softmax(W h_t + b)."""

    def __init__(self, vocabulary_size: int, source_size: int, units: int) -> None:
        super().__init__()
        self.sources = nn.Embedding(source_size, units)
        self.words = nn.Embedding(vocabulary_size, units)
        self.start = nn.Linear(units, units)
        self.cell = nn.GRUCell(units, units)
        self.head = VocabularyHead(vocabulary_size, units)

    def encode(self, source: Tensor, source_length: Tensor) -> BagState:
        there = torch.arange(source.shape[1], device=source.device) < source_length.unsqueeze(1)  # [B, S]
        total = (self.sources(source) * there.unsqueeze(2)).sum(1)
        return BagState(torch.tanh(self.start(total / source_length.unsqueeze(1))))

    def step(self, state: BagState, tokens: Tensor) -> tuple[BagState, Tensor]:
        hidden = self.cell(self.words(tokens), state.hidden)
        return BagState(hidden), hidden
