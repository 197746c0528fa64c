"""The paper's caption model (Vinyals et al. 2015): the image is the first input of an LSTM that then reads words.

Shapes: B batch, T time, F image features, H units (also the size of a word's embedding), V vocabulary.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from bangbang.contracts import TrainingSplit
from bangbang.heads import VocabularyHead
from bangbang.models.base import Generator, TensorState
from bangbang.models.layers import Dropout
from bangbang.models.lstm import Lstm, LstmRollout
from bangbang.models.settings import ShowAndTellSettings
from bangbang.symbols import PAD

OBSERVED = 10_000  # training images at most, for the mean and deviation of their features


@dataclass(frozen=True)
class LstmState(TensorState):
    hidden: Tensor  # [B, H]
    cell: Tensor  # [B, H]


class ShowAndTell(Generator[LstmState]):
    """p(z | image): x_0 = P (f - μ) / σ, x_t = E z_{t-1}, h_t = LSTM(x_t), z_t ~ softmax(W h_t + b).

    μ and σ are those of the training images (`prepare`). Dropout is on what the LSTM reads and on what it gives out,
    not between its own time steps.
    """

    mean: Tensor
    deviation: Tensor

    def __init__(self, vocabulary_size: int, image_features: int, settings: ShowAndTellSettings) -> None:
        super().__init__()
        units = settings.units
        self.dropout = Dropout(settings.dropout)
        self.register_buffer("mean", torch.zeros(image_features))
        self.register_buffer("deviation", torch.ones(image_features))
        self.image = nn.Linear(image_features, units)
        self.words = nn.Embedding(vocabulary_size, units, padding_idx=PAD)
        self.lstm = Lstm(units)
        self.head = VocabularyHead(vocabulary_size, units)

    def prepare(self, split: TrainingSplit) -> None:
        self.observe(split.features(split.spread(OBSERVED)))

    def observe(self, features: Tensor) -> None:
        """Learn the mean and deviation of each feature from training images [N, F], once, before training.

        Pooled features are all positive, and what images share outweighs what they differ in; taken off, the model
        learns to look at them much sooner. Features that hardly change are not blown up.
        """
        deviation = features.std(0, correction=0)
        self.mean.copy_(features.mean(0))
        self.deviation.copy_(deviation.clamp(min=0.1 * float(deviation.mean()) or 1.0))

    def encode(self, source: Tensor, source_length: Tensor) -> LstmState:
        """The state after the image, from its features [B, F]; every image is one input long."""
        standard = (source.to(self.mean.dtype) - self.mean) / self.deviation
        start = standard.new_zeros(len(source), self.words.embedding_dim)
        _, state = self.read(LstmState(start, start), self.image(standard).unsqueeze(1))
        return state

    def step(self, state: LstmState, tokens: Tensor) -> tuple[LstmState, Tensor]:
        outputs, state = self.read(state, self.words(tokens).unsqueeze(1))
        return state, self.dropout(outputs[:, 0])

    def unroll(self, state: LstmState, tokens: Tensor) -> Tensor:
        outputs, _ = self.read(state, self.words(tokens))
        features: Tensor = self.dropout(outputs)
        return features

    def rollout(self, state: LstmState, max_length: int) -> LstmRollout:
        dropout = self.dropout.rate if self.training else 0.0
        return LstmRollout(self.words, self.lstm, dropout, state.hidden, state.cell, max_length)

    def read(self, state: LstmState, inputs: Tensor) -> tuple[Tensor, LstmState]:
        """Outputs [B, T, H] and the last state, after the inputs [B, T, H]."""
        states, cell = self.lstm(self.dropout(inputs).transpose(0, 1), state.hidden, state.cell)
        return states.transpose(0, 1), LstmState(states[-1], cell)
