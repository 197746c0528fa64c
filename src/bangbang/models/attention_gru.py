"""The paper's headline model: bidirectional GRU encoder, attention GRU decoder, one embedding matrix for everything.

Shapes: B batch, S source length, T target length, L layers, H units (also the size of an embedding), V vocabulary.
"""

from dataclasses import replace

import torch
from torch import Tensor, nn

from bangbang.heads import VocabularyHead
from bangbang.models.attention_decoder import AttentionDecoder, AttentionState
from bangbang.models.attention_rollout import AttentionRollout
from bangbang.models.base import Generator
from bangbang.models.dropout import Dropout, keep_mask
from bangbang.models.gru import BidirectionalGru
from bangbang.models.settings import AttentionGruSettings
from bangbang.symbols import PAD


class AttentionGru(Generator[AttentionState]):
    """p(z | x) as in Bahdanau et al. 2015, with `layers` layers on both sides.

    Attention looks from the top decoder layer's last state; its context enters the lowest layer beside the last token.
    The features h_t = tanh(F [s_t, context_t, token_{t-1}]) meet the shared embeddings in the output layer. Sources
    with a vocabulary of their own have embeddings of their own.
    """

    head: VocabularyHead

    def __init__(
        self, vocabulary_size: int, settings: AttentionGruSettings, source_vocabulary_size: int | None = None
    ) -> None:
        super().__init__()
        units, layers = settings.units, settings.layers
        self.dropout = Dropout(settings.dropout)
        self.head = VocabularyHead(vocabulary_size, units)
        self.encoder = nn.ModuleList(
            BidirectionalGru(units if layer == 0 else 2 * units, units) for layer in range(layers)
        )
        self.start = nn.ModuleList(nn.Linear(units, units) for _ in range(layers))
        self.decoder = AttentionDecoder(2 * units, units, layers)
        self.token_input = nn.Linear(units, 3 * units)
        self.features = nn.Linear(4 * units, units)
        self.source_words = None if source_vocabulary_size is None else nn.Embedding(source_vocabulary_size, units)

    def embed(self, tokens: Tensor) -> Tensor:
        vectors: Tensor = self.dropout(self.head.embed(tokens))
        return vectors

    def embed_source(self, tokens: Tensor) -> Tensor:
        if self.source_words is None:
            return self.embed(tokens)
        vectors: Tensor = self.dropout(self.source_words(tokens))
        return vectors

    def encode(self, source: Tensor, source_length: Tensor) -> AttentionState:
        self.head.begin()
        padding = torch.arange(source.shape[1], device=source.device) >= source_length.unsqueeze(1)  # [B, S]
        states = self.embed_source(source.masked_fill(padding, PAD))  # [B, S, H]
        hidden = []
        for depth, (layer, start) in enumerate(zip(self.encoder, self.start, strict=True)):
            states, last = layer(self.dropout(states) if depth else states, padding)
            hidden.append(torch.tanh(start(last)).to(last.dtype))
        bias = torch.zeros_like(states[..., 0]).masked_fill(padding, float("-inf"))
        return AttentionState(torch.stack(hidden, 1), states, self.decoder.keys(states), bias)

    def step(self, state: AttentionState, tokens: Tensor) -> tuple[AttentionState, Tensor]:
        hidden, features = self.read(state, tokens.unsqueeze(1))
        return replace(state, hidden=hidden[0].transpose(0, 1)), features[:, 0]

    def unroll(self, state: AttentionState, tokens: Tensor) -> Tensor:
        _, features = self.read(state, tokens)
        return features

    def rollout(self, state: AttentionState, max_length: int) -> AttentionRollout:
        parts = self.head, self.decoder, self.token_input, self.features
        return AttentionRollout(*parts, self.dropout.rate if self.training else 0.0, state, max_length)

    def read(self, state: AttentionState, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Each layer's states [T, L, B, H] and the features [B, T, H] after each of the tokens [B, T]."""
        vectors = self.embed(tokens)  # [B, T, H]
        start = state.hidden.transpose(0, 1)  # [L, B, H]
        masks = None
        if self.training and self.dropout.rate:
            between = vectors.new_empty(tokens.shape[1], len(start) - 1, *start.shape[1:])
            masks = keep_mask(between, self.dropout.rate)
        gates = self.token_input(vectors.transpose(0, 1))
        hidden, contexts = self.decoder(gates, start, state.read, masks)
        top = torch.cat((hidden[:, -1], contexts, vectors.transpose(0, 1)), -1).transpose(0, 1)
        features: Tensor = self.dropout(torch.tanh(self.features(top)))
        return hidden, features
