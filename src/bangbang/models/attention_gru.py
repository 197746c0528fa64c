"""The paper's headline model: bidirectional GRU encoder, attention GRU decoder, one embedding matrix for everything.

Shapes: B batch, R rows of a segment, S source length, T target length, L layers, H units (also the size of an
embedding), M memory size, V vocabulary, N positions: all rows of all steps.
"""

from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bangbang.heads import VocabularyHead
from bangbang.models.attention_decoder import AttentionDecoder, AttentionState, Tape, steps_of
from bangbang.models.base import Generator
from bangbang.models.gru import BidirectionalGru, full_precision
from bangbang.models.layers import Dropout, keep_mask, known_linear, noted_dropout
from bangbang.models.settings import AttentionGruSettings
from bangbang.products import add_product, affine
from bangbang.symbols import PAD


class Segment:
    """Steps of the same rows, and their noise."""

    def __init__(self, state: AttentionState, rows: Tensor | None, tape: Tape) -> None:
        self.memory = state.read
        self.rows = rows  # which rows of the segment before these are; None for the first
        self.tape = tape
        self.tokens: list[Tensor] = []  # [R]
        self.results: list[Tensor] = []  # [R, H] features before dropout
        self.vector_masks: list[Tensor] = []  # [R, H]
        self.layer_masks: list[Tensor] = []  # [L-1, R, H]
        self.feature_masks: list[Tensor] = []  # [R, H]


class AttentionRollout:
    """The attention decoder one step at a time, over tokens that are chosen on the way, trained on the steps it took.

    The steps are taken without a graph and kept on a tape; `features` then makes the graph of them without computing
    anything anew. When rows are dropped a new tape begins, and the gradient of its start flows into the last one's end.
    """

    def __init__(
        self,
        head: VocabularyHead,
        decoder: AttentionDecoder,
        token_input: nn.Linear,
        to_features: nn.Linear,
        dropout: float,
        state: AttentionState,
        max_length: int,
    ) -> None:
        self.head, self.token_input, self.to_features = head, token_input, to_features
        self.dropout, self.state, self.left = dropout, state, max_length
        self.weights = decoder.weights()
        self.start = state.hidden.transpose(0, 1)  # [L, R, H]
        self.segments = [Segment(state, None, self.tape(self.start.detach()))]

    def tape(self, start: Tensor) -> Tape:
        return Tape(self.left, start, self.state.read, self.weights, self.token_input.bias)

    @torch.no_grad()
    def step(self, tokens: Tensor) -> Tensor:
        with full_precision(tokens):
            return self.taken(tokens)

    def taken(self, tokens: Tensor) -> Tensor:
        segment = self.segments[-1]
        tape, t = segment.tape, len(segment.tokens)
        vectors = noted_dropout(F.embedding(tokens, self.head.weight), self.dropout, segment.vector_masks)
        if self.dropout:
            segment.layer_masks.append(keep_mask(tape.states[0, 1:], self.dropout))
            tape.masks = segment.layer_masks
        add_product(tape.x[0, t], vectors, self.token_input.weight)
        tape.forward(t, self.weights, segment.memory)
        top = torch.cat((tape.states[t + 1, -1], tape.contexts[t], vectors), 1)
        linear = self.to_features
        result = affine(top, linear.weight, linear.bias, out=top.new_empty(len(top), linear.out_features)).tanh_()
        segment.tokens.append(tokens)
        segment.results.append(result)
        self.left -= 1
        return noted_dropout(result, self.dropout, segment.feature_masks)

    def keep(self, rows: Tensor) -> None:
        last = self.segments[-1]
        end = last.tape.states[len(last.tokens)]  # [L, R, H]
        with torch.enable_grad():
            self.state = self.state.select(rows)
        self.segments.append(Segment(self.state, rows, self.tape(end.index_select(1, rows))))

    def features(self) -> Tensor:
        taken = [segment for segment in self.segments if segment.tokens]
        for segment in taken:
            segment.tape.cut(len(segment.tokens))
            segment.tape.is_first, segment.tape.passes = segment is taken[0], taken[0].tape.passes
        vectors = self.head.embed(torch.cat([each for segment in taken for each in segment.tokens]))  # [N, H]
        if self.dropout:
            vectors = vectors * torch.cat([mask for segment in taken for mask in segment.vector_masks])
        # their values are gone, and nobody reads them: the tapes have made gates of them, in place
        gone = vectors.new_empty(1).expand(len(vectors), self.token_input.out_features)
        gates = known_linear(vectors, self.token_input, gone)  # [N, 3H]
        top = torch.cat((*self.states_and_contexts(gates), vectors), 1)
        result = torch.cat([each for segment in taken for each in segment.results])
        features = known_linear(top, self.to_features, result, "tanh")
        if not self.dropout:
            return features
        return features * torch.cat([mask for segment in taken for mask in segment.feature_masks])

    def states_and_contexts(self, gates: Tensor) -> tuple[Tensor, Tensor]:
        """The top layer's states [N, H] and the contexts [N, M] of all steps, as nodes of the graph."""
        start, done, states, contexts = self.start, 0, [], []
        for segment in self.segments:
            if segment.rows is not None:
                start = start.index_select(1, segment.rows)
            if not segment.tokens:
                continue
            own = gates[done : done + len(segment.tokens) * start.shape[1]].view(
                len(segment.tokens), -1, gates.shape[1]
            )
            done += len(segment.tokens) * start.shape[1]
            hidden, read = steps_of(segment.tape, own, start, segment.memory, self.weights, taken=True)
            start = hidden[-1]
            states.append(hidden[:, -1].flatten(0, 1))
            contexts.append(read.flatten(0, 1))
        return torch.cat(states), torch.cat(contexts)


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
        state = state.to(self.decoder.recurrent.dtype)  # autocast may have halved the keys
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
