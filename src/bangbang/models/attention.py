"""Additive attention (Bahdanau et al. 2015): α_s ∝ exp(v · tanh(K m_s + Q h)), context = Σ_s α_s m_s.

Shapes: B batch, S source length, H units, M memory size.
"""

import torch
from torch import Tensor, nn


class AdditiveAttention(nn.Module):
    def __init__(self, memory_size: int, units: int) -> None:
        super().__init__()
        self.key = nn.Linear(memory_size, units, bias=False)
        self.query = nn.Linear(units, units)
        self.energy = nn.Linear(units, 1, bias=False)

    def keys(self, memory: Tensor) -> Tensor:
        """K m_s [B, S, H], computed once per input."""
        keys: Tensor = self.key(memory)
        return keys

    def forward(self, h: Tensor, memory: Tensor, keys: Tensor, bias: Tensor) -> Tensor:
        """Context [B, M] for the state h [B, H]; `bias` [B, S] is 0, and -inf at padding."""
        hidden = torch.tanh(keys + self.query(h).unsqueeze(1))  # [B, S, H]
        weights = torch.softmax(self.energy(hidden).squeeze(2) + bias, dim=1)  # [B, S]
        return torch.bmm(weights.unsqueeze(1), memory).squeeze(1)
