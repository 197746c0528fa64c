"""A reward of one's own, and a training by it.

python -m examples.own_reward configs/headlines-docstrings.toml --set training.max_steps=200

B rows · M references per row · U candidates, the distinct tokens of the references
"""

import torch
from torch import Tensor

from bangbang.config import ObjectiveConfig
from bangbang.objectives import Objective
from bangbang.rewards import Dup, Eos, References, RougeN, Sum
from bangbang.rewards.state import BaseReward, ScoredState
from bangbang.symbols import EOS
from examples.loop import read_config, train


class Coverage(BaseReward):
    """R(z | y) = the share of y's distinct words that z has, in any order; `</s>` is no word."""

    def begin(self, references: References) -> "CoverageState":
        return CoverageState(references)


class CoverageState(ScoredState):
    def __init__(self, references: References) -> None:
        super().__init__(references, several="mean")
        candidates = references.candidates  # [B, U], padded with `<pad>`
        same = references.words[:, :, :, None] == candidates[:, None, None, :]
        self.asked = same.any(2) & (candidates != EOS)[:, None]  # [B, M, U]
        self.had = torch.zeros_like(self.asked)

    def score(self, had: Tensor) -> Tensor:
        return had.to(self.scores.dtype) / self.asked.sum(2, keepdim=True).clamp(min=1)

    def next_scores(self) -> Tensor:
        had = self.had.sum(2, keepdim=True)  # [B, M, 1]
        after = had + (self.asked & ~self.had)  # [B, M, U]: after each candidate
        return self.score(torch.cat((after, had), 2))  # [B, M, U + 1]: the last is any other token

    def follow_scores(self, tokens: Tensor) -> Tensor:
        chosen = self.references.candidates == tokens[:, None]  # [B, U]
        self.had = self.had | (self.asked & chosen[:, None])
        return self.score(self.had.sum(2, keepdim=True)).squeeze(2)


def objective(max_length: int) -> Objective:
    """Bang-bang SPG; the sum's first part also weighs the loss."""
    reward = Sum(RougeN(3), Coverage(), Dup(), Eos(), weights=(1.0, 0.5, 1.0, 1.0))
    return Objective(ObjectiveConfig(kind="bbspg", p_drop=0.4), reward, max_length)


if __name__ == "__main__":
    config = read_config(__doc__)
    train(config, objective(config.data.max_target_length))
