"""The paper's headline model: bidirectional GRU encoder, attention GRU decoder, one embedding matrix for everything.

Shapes: B batch, S source length, T target length, L layers, H units (also the size of an embedding), V vocabulary.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bangbang.config import ModelConfig
from bangbang.heads import VocabularyHead
from bangbang.models.attention import AdditiveAttention
from bangbang.models.dropout import Dropout
from bangbang.models.gru import BidirectionalGru, GruCell
from bangbang.models.protocol import DecoderState
from bangbang.symbols import PAD


class AttentionGru(nn.Module):
    """p(z | x) as in Bahdanau et al. 2015, with `layers` layers on both sides.

    Attention looks from the top decoder layer's last state; its context enters the lowest layer beside the last token.
    The features h_t = tanh(F [s_t, context_t, token_{t-1}]) meet the shared embeddings in the output layer.
    """

    def __init__(self, vocabulary_size: int, config: ModelConfig) -> None:
        super().__init__()
        units = config.units
        self.dropout = Dropout(config.dropout)
        self.head = VocabularyHead(vocabulary_size, units)
        self.encoder = nn.ModuleList(
            BidirectionalGru(units if layer == 0 else 2 * units, units) for layer in range(config.layers)
        )
        self.start = nn.ModuleList(nn.Linear(units, units) for _ in range(config.layers))
        self.attention = AdditiveAttention(2 * units, units)
        self.token_input = nn.Linear(units, 3 * units)
        self.context_input = nn.Linear(2 * units, 3 * units, bias=False)
        self.layer_inputs = nn.ModuleList(nn.Linear(units, 3 * units) for _ in range(config.layers - 1))
        self.cells = nn.ModuleList(GruCell(units) for _ in range(config.layers))
        self.features = nn.Linear(4 * units, units)

    def embed(self, tokens: Tensor) -> Tensor:
        # sparse: the gradient has one row per token looked up; it is added into the output layer's, never made [V, H]
        vectors: Tensor = self.dropout(F.embedding(tokens, self.head.weight, sparse=True))
        return vectors

    def encode(self, source: Tensor, source_length: Tensor) -> DecoderState:
        padding = torch.arange(source.shape[1], device=source.device) >= source_length.unsqueeze(1)  # [B, S]
        states = self.embed(source.masked_fill(padding, PAD))  # [B, S, H]
        hidden = []
        for depth, (layer, start) in enumerate(zip(self.encoder, self.start, strict=True)):
            states, last = layer(self.dropout(states) if depth else states, padding)
            hidden.append(torch.tanh(start(last)).to(last.dtype))
        bias = torch.zeros_like(states[..., 0]).masked_fill(padding, float("-inf"))
        return DecoderState(torch.stack(hidden, 1), states, self.attention.keys(states), bias)

    def step(self, state: DecoderState, tokens: Tensor) -> tuple[DecoderState, Tensor]:
        vectors = self.embed(tokens)
        hidden, context = self.advance(state, state.hidden.unbind(1), self.token_input(vectors))
        features = self.to_features(hidden[-1], context, vectors)
        return state._replace(hidden=torch.stack(hidden, 1)), features

    def unroll(self, state: DecoderState, tokens: Tensor) -> Tensor:
        vectors = self.embed(tokens)  # [B, T, H]
        hidden: Sequence[Tensor] = state.hidden.unbind(1)
        tops, contexts = [], []
        for token_gates in self.token_input(vectors).unbind(1):
            hidden, context = self.advance(state, hidden, token_gates)
            tops.append(hidden[-1])
            contexts.append(context)
        return self.to_features(torch.stack(tops, 1), torch.stack(contexts, 1), vectors)

    def advance(
        self, state: DecoderState, hidden: Sequence[Tensor], token_gates: Tensor
    ) -> tuple[Sequence[Tensor], Tensor]:
        """The layers' next states [B, H] each and the context [B, 2H], from the last token's input product [B, 3H]."""
        context = self.attention(hidden[-1], state.memory, state.keys, state.bias)
        new = [self.cells[0](token_gates + self.context_input(context), hidden[0])]
        for layer_input, cell, h in zip(self.layer_inputs, self.cells[1:], hidden[1:], strict=True):
            new.append(cell(layer_input(self.dropout(new[-1])), h))
        return new, context

    def to_features(self, top: Tensor, context: Tensor, vectors: Tensor) -> Tensor:
        features: Tensor = self.dropout(torch.tanh(self.features(torch.cat((top, context, vectors), -1))))
        return features
