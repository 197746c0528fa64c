"""A model small enough to enumerate: the next token's logits are a table of (input, last token)."""

import torch
from torch import Tensor, nn

from bangbang.models import DecoderState


class TableHead(nn.Module):
    """A head whose features already are the logits."""

    def logits(self, features: Tensor) -> Tensor:
        return features.clone()


class TableModel(nn.Module):
    """Every input is one token whose id picks the table [V, V] of next-token logits."""

    def __init__(self, tables: Tensor) -> None:
        super().__init__()
        self.tables, self.head = tables, TableHead()  # [inputs, V, V]

    def encode(self, source: Tensor, source_length: Tensor) -> DecoderState:
        nothing = torch.zeros(len(source), 0)
        return DecoderState(nothing, source[:, :1], nothing, torch.zeros(len(source), 1))

    def step(self, state: DecoderState, tokens: Tensor) -> tuple[DecoderState, Tensor]:
        return state, self.tables[state.memory[:, 0], tokens]

    def log_p(self, which: int, sequence: list[int]) -> float:
        """log p of a whole sequence (after `<s>`), the literal way."""
        total, last = 0.0, 1
        for token in sequence:
            total += float(self.tables[which, last].log_softmax(0)[token])
            last = token
        return total
