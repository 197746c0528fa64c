"""The paper's caption model (Vinyals et al. 2015): the image is the first input of an LSTM that then reads words.

Shapes: B batch, T time, F image features, H units (also the size of a word's embedding), V vocabulary.
"""

from typing import NamedTuple

from torch import Tensor, nn

from bangbang.config import ModelConfig
from bangbang.heads import VocabularyHead
from bangbang.models.dropout import Dropout
from bangbang.models.lstm import Lstm
from bangbang.models.lstm_rollout import LstmRollout
from bangbang.symbols import PAD


class LstmState(NamedTuple):
    hidden: Tensor  # [B, H]
    cell: Tensor  # [B, H]

    def select(self, rows: Tensor) -> "LstmState":
        return LstmState(*(part.index_select(0, rows) for part in self))


class ShowAndTell(nn.Module):
    """p(z | image): x_0 = P f, x_t = E z_{t-1}, h_t = LSTM(x_t), z_t ~ softmax(W h_t + b).

    Dropout is on what the LSTM reads and on what it gives out, not between its own time steps.
    """

    def __init__(self, vocabulary_size: int, image_features: int, config: ModelConfig) -> None:
        super().__init__()
        units = config.units
        self.dropout = Dropout(config.dropout)
        self.image = nn.Linear(image_features, units)
        self.words = nn.Embedding(vocabulary_size, units, padding_idx=PAD)
        self.lstm = Lstm(units)
        self.head = VocabularyHead(vocabulary_size, units)

    def encode(self, source: Tensor, source_length: Tensor) -> LstmState:
        """The state after the image, from its features [B, F]; every image is one input long."""
        start = source.new_zeros(len(source), self.words.embedding_dim, dtype=self.head.weight.dtype)
        _, state = self.read(LstmState(start, start), self.image(source.to(start.dtype)).unsqueeze(1))
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
