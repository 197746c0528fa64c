"""A model small enough to enumerate: the next token's logits are a table of (input, last token)."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from bangbang.models import TensorState


@dataclass(frozen=True)
class TableState(TensorState):
    hidden: Tensor  # [B] the input's token


class TableHead(nn.Module):
    """A head whose features already are the logits."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def logits(self, features: Tensor) -> Tensor:
        return features.clone()

    def top_k(self, features: Tensor, k: int, forbidden: Tensor) -> tuple[Tensor, Tensor]:
        best, tokens = features.log_softmax(1).scatter(1, forbidden, -torch.inf).topk(min(k, features.shape[1]))
        return best, tokens


class TableModel(nn.Module):
    """Every input is one token whose id picks the table [V, V] of next-token logits."""

    def __init__(self, tables: Tensor) -> None:
        super().__init__()
        self.tables, self.head = tables, TableHead(tables.shape[-1])  # [inputs, V, V]

    def encode(self, source: Tensor, source_length: Tensor) -> TableState:
        return TableState(source[:, 0])

    def step(self, state: TableState, tokens: Tensor) -> tuple[TableState, Tensor]:
        return state, self.tables[state.hidden, tokens]

    def log_p(self, which: int, sequence: list[int]) -> float:
        """log p of a whole sequence (after `<s>`), the literal way."""
        total, last = 0.0, 1
        for token in sequence:
            total += float(self.tables[which, last].log_softmax(0)[token])
            last = token
        return total
