"""The whole text right, or nothing.

B rows · M references per row · T reference positions · U candidate slots
"""

from typing import Literal

import torch
from torch import Tensor

from bangbang.rewards.references import NOTHING, References
from bangbang.rewards.state import BaseReward, ScoredState, Several, checked_several
from bangbang.symbols import EOS


class ExactMatch(BaseReward):
    """R(z | y) = 1 if z = y with `</s>` at its end, else 0; `<unk>` matches nothing.

    Its one increment is that of `</s>` after all of y before it. Exact for every token. It drives no sampler, since all
    tokens before the end tie; it is for policy gradients, and as a utility it picks what is drawn most often.
    """

    def __init__(self, *, several: Literal["mean", "best"] = "mean") -> None:
        self.several = checked_several(several)

    def begin(self, references: References) -> "ExactMatchState":
        return ExactMatchState(references, self.several)


class ExactMatchState(ScoredState):
    def __init__(self, references: References, several: Several) -> None:
        super().__init__(references, several)
        self.equal = references.lengths > 0  # [B, M] whether z_{1:t} = y_{1:t}

    def due(self) -> Tensor:
        """y_{t+1}, and nothing after the end. [B, M]"""
        words = self.references.words
        return words[:, :, self.t] if self.t < words.shape[2] else torch.full_like(words[:, :, 0], NOTHING)

    def next_scores(self) -> Tensor:
        right = (self.equal & (self.due() == EOS)).to(self.scores.dtype)[:, :, None]  # [B, M, 1]
        ends = (self.references.candidates == EOS)[:, None]  # [B, 1, U]
        return torch.cat([right * ends, torch.zeros_like(right)], dim=2)

    def follow_scores(self, tokens: Tensor) -> Tensor:
        self.equal = self.equal & (self.due() == tokens[:, None])
        return (self.equal & (tokens == EOS)[:, None]).to(self.scores.dtype)
