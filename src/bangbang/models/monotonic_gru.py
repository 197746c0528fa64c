"""A model for strings that are written in the order in which they are read, such as letters to phones.

Its attention remembers where it was, and stays there or moves on by a few symbols, as the forward attention of Zhang
et al. 2018. So it need not learn from examples that words are read from left to right.

Shapes: B batch, S source length, T time, H units, M memory size, J moves.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bangbang.heads import VocabularyHead
from bangbang.models.base import Generator, GraphRollout, TensorState
from bangbang.models.gru import BidirectionalGru, full_precision
from bangbang.models.layers import Dropout
from bangbang.models.settings import MonotonicGruSettings
from bangbang.symbols import PAD

ELSEWHERE = 1e-4  # ε: as likely is every place that no move leads to, so that a lost reader finds back


@dataclass(frozen=True)
class MonotonicState(TensorState):
    hidden: Tensor  # [B, H]
    context: Tensor  # [B, M] what was read last
    alignment: Tensor  # [B, S] where it was read
    memory: Tensor  # [B, S, M]
    keys: Tensor  # [B, S, H] the memory as attention compares it
    bias: Tensor  # [B, S] 0, and -inf at padding


class MonotonicGru(Generator[MonotonicState]):
    """p(z | x) by a bidirectional GRU of `layers` layers that reads, and a GRU of one layer that writes:

        h_t = GRU(h_{t-1}, [E z_{t-1}, c_{t-1}])        c_t = Σ_s α_{t,s} m_s
        α_{t,s} ∝ (ε + Σ_j π_{t,j} α_{t-1,s-j}) · exp(v · tanh(K m_s + Q h_t + q))        π_t = softmax(P h_t + p)

    Here j = 0, 1, ... `jumps` counts the symbols that attention moves on by, and α_0 is all at the first symbol. The
    features tanh(F [h_t, c_t, E z_{t-1}]) meet the embeddings of the outputs in the output layer. Unlike the headline
    model's attention, this one looks after z_{t-1} was read, which tells what was spelled already.
    """

    head: VocabularyHead

    def __init__(
        self, vocabulary_size: int, settings: MonotonicGruSettings, source_vocabulary_size: int | None = None
    ) -> None:
        super().__init__()
        units, memory = settings.units, 2 * settings.units
        self.dropout = Dropout(settings.dropout)
        self.head = VocabularyHead(vocabulary_size, units)
        self.source_words = None if source_vocabulary_size is None else nn.Embedding(source_vocabulary_size, units)
        self.encoder = nn.ModuleList(
            BidirectionalGru(units if layer == 0 else memory, units) for layer in range(settings.layers)
        )
        self.start = nn.Linear(units, units)
        self.cell = nn.GRUCell(units + memory, units)
        self.key = nn.Linear(memory, units, bias=False)
        self.query = nn.Linear(units, units)
        self.energy = nn.Linear(units, 1, bias=False)
        self.moves = nn.Linear(units, settings.jumps + 1)
        self.features = nn.Linear(units + memory + units, units)

    def encode(self, source: Tensor, source_length: Tensor) -> MonotonicState:
        self.head.begin()
        padding = torch.arange(source.shape[1], device=source.device) >= source_length.unsqueeze(1)  # [B, S]
        source = source.masked_fill(padding, PAD)
        embed = self.head.embed if self.source_words is None else self.source_words
        states = embed(source)
        for layer in self.encoder:
            states, last = layer(self.dropout(states), padding)
        memory = self.dropout(states)  # [B, S, M]
        alignment = torch.zeros_like(memory[..., 0])
        alignment[:, 0] = 1
        bias = torch.zeros_like(alignment).masked_fill(padding, float("-inf"))
        with full_precision(memory):
            hidden, keys = torch.tanh(self.start(last)), self.key(memory)
        return MonotonicState(hidden, torch.zeros_like(memory[:, 0]), alignment, memory, keys, bias)

    def step(self, state: MonotonicState, tokens: Tensor) -> tuple[MonotonicState, Tensor]:
        return self.read(state, self.dropout(self.head.embed(tokens)))

    def unroll(self, state: MonotonicState, tokens: Tensor) -> Tensor:
        vectors = self.dropout(self.head.embed(tokens))  # [B, T, H]
        features = []
        for each in vectors.unbind(1):
            state, found = self.read(state, each)
            features.append(found)
        return torch.stack(features, 1)

    def rollout(self, state: MonotonicState, max_length: int) -> GraphRollout[MonotonicState]:
        return GraphRollout(self, state)

    def read(self, state: MonotonicState, vectors: Tensor) -> tuple[MonotonicState, Tensor]:
        """After tokens of these vectors [B, H]: the next state, and the features [B, H]."""
        with full_precision(vectors):
            vectors = vectors.to(self.cell.weight_hh.dtype)
            hidden = self.cell(torch.cat((vectors, state.context), 1), state.hidden)
            energy = self.energy(torch.tanh(state.keys + self.query(hidden).unsqueeze(1))).squeeze(2) + state.bias
            moves = torch.softmax(self.moves(hidden), 1)
            alignment = torch.softmax(energy + (moved_on(state.alignment, moves) + ELSEWHERE).log(), 1)
            context = torch.bmm(alignment.unsqueeze(1), state.memory).squeeze(1)
            features = torch.tanh(self.features(torch.cat((hidden, context, vectors), 1)))
        return replace(state, hidden=hidden, context=context, alignment=alignment), self.dropout(features)


def moved_on(alignment: Tensor, moves: Tensor) -> Tensor:
    """Σ_j π_j α_{s-j}: where attention α [B, S] is after it moved on by j symbols with probability π_j [B, J].  [B, S]

    What would leave the source is dropped.
    """
    farthest = moves.shape[1] - 1
    shifted = F.pad(alignment, (farthest, 0)).unfold(1, alignment.shape[1], 1)  # [B, J, S], the farthest move first
    return torch.bmm(moves.flip(1).unsqueeze(1), shifted).squeeze(1)
