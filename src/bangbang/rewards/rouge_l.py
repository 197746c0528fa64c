"""ROUGE-L: the longest common subsequence.

B rows · M references per row · T reference positions · U candidate slots
"""

from typing import Literal

import torch
from torch import Tensor

from bangbang.rewards.references import References
from bangbang.rewards.state import BaseReward, ScoredState, checked_several


class RougeL(BaseReward):
    """ROUGE-L, the F-measure of the longest common subsequence of z and y.

        R(z | y) = (1 + β²) P Q / (Q + β² P) = (1 + β²) LCS / (|z| + β² |y|),   P = LCS / |z|,   Q = LCS / |y|

    β = 1 is F1; coco-caption has 1.2. `</s>` is a token of both; `<unk>` matches nothing. By itself it makes a poor
    guide, as the paper's supplement shows: after "a" all the remaining words of y add the same.

    Exact for every token: one that lengthens no common subsequence, in y or not, has the value of `rest`.
    """

    def __init__(self, beta: float = 1.0, *, several: Literal["mean", "best"] = "mean") -> None:
        self.beta = beta
        self.several = checked_several(several)

    def begin(self, references: References) -> "RougeLState":
        return RougeLState(self, references)


def rouge_l(common: Tensor, length: int, reference_lengths: Tensor, beta: float) -> Tensor:
    """(1 + β²) LCS / (|z| + β² |y|)"""
    return (1 + beta**2) * common / (length + beta**2 * reference_lengths)


class RougeLState(ScoredState):
    """Keeps the last row of the table LCS(z, y_{1:j}), j = 0 ... T."""

    def __init__(self, reward: RougeL, references: References) -> None:
        super().__init__(references, reward.several)
        self.reward = reward
        rows, several, width = references.words.shape
        self.common = self.scores.new_zeros(rows, several, width + 1)  # [B, M, T + 1]
        self.lengths = references.lengths.to(self.scores.dtype)  # [B, M]

    def next_scores(self) -> Tensor:
        # appending v = y_j gives LCS(z, y_{1:j-1}) + 1, one more than before iff z's LCS is reached before j
        longest = self.common[:, :, -1:]
        lengthens = (self.common[:, :, :-1] == longest).to(longest.dtype)  # [B, M, T]
        width = self.references.candidates.shape[1] + 1
        gains = longest.new_zeros(*longest.shape[:2], width)
        gains = gains.scatter_reduce_(2, self.references.slots, lengthens, "amax")  # [B, M, U + 1]
        gains[:, :, -1] = 0  # where `<unk>` and `<pad>` stand
        return self.score(longest + gains, self.lengths[:, :, None])

    def follow_scores(self, tokens: Tensor) -> Tensor:
        here = self.references.words == tokens[:, None, None]
        extended = self.common.clone()
        extended[:, :, 1:] = torch.maximum(self.common[:, :, 1:], (self.common[:, :, :-1] + 1) * here)
        self.common = extended.cummax(2).values
        return self.score(self.common[:, :, -1], self.lengths)

    def score(self, common: Tensor, reference_lengths: Tensor) -> Tensor:
        return rouge_l(common, self.t + 1, reference_lengths, self.reward.beta)
