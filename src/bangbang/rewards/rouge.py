"""ROUGE-N, the paper's main reward, and ROUGE-L, by the longest common subsequence.

B rows · M references per row · T reference positions · U candidate slots
"""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from bangbang.errors import InputError
from bangbang.rewards.ngrams import NgramReward
from bangbang.rewards.references import References
from bangbang.rewards.state import BaseReward, ScoredState, checked_several

Measure = Literal["f1", "recall", "precision"]


class RougeN(NgramReward):
    """The average over n = 1 ... max_n of ROUGE-n: F1, recall or precision of clipped n-gram matches.

        R(z | y) = 1/N Σ_n F1_n,   F1_n = 2 m_n / (c_n(z) + c_n(y)),   recall m_n / c_n(y),   precision m_n / c_n(z)

    with m_n = Σ_g min(count of n-gram g in z, count in y) and c_n the number of n-grams. A prefix is scored by its own
    n-gram counts, so a token outside y costs a little. `</s>` counts like any token; with `start_symbol`, one `<s>`
    before both sides counts in n-grams of order ≥ 2, so that the first words of y come first. An n-gram with an
    `<unk>` in it matches nothing but counts in c_n. An order of which y or z has no n-gram scores 0.

    Exact for every token: all tokens outside the references complete no match and share `rest`.
    """

    def __init__(
        self,
        max_n: int = 3,
        *,
        orders: Sequence[int] | None = None,
        measure: Measure = "f1",
        start_symbol: bool = True,
        several: Literal["mean", "best"] = "mean",
    ) -> None:
        """`orders`, such as (2,), in place of 1 ... max_n; `several`: how several references' scores are combined."""
        super().__init__(range(1, max_n + 1) if orders is None else orders, start_symbol, several)
        if measure not in ("f1", "recall", "precision"):
            raise InputError(f"measure must be 'f1', 'recall' or 'precision', not {measure!r}")
        self.measure = measure

    def score(self, matches: Tensor, length: int, sizes: Tensor) -> Tensor:
        in_candidate = sizes.new_tensor(self.totals(length))[:, None]  # [N, 1]
        return rouge_n(matches, in_candidate, sizes[..., None], self.measure).sum(2) / len(self.orders)


def rouge_n(matches: Tensor, in_candidate: Tensor, in_reference: Tensor, measure: Measure = "f1") -> Tensor:
    """ROUGE-n from counts of n-grams; 0 where there are none to count."""
    if measure == "f1":
        return matches / ((in_candidate + in_reference) / 2).clamp(min=0.5)
    return matches / (in_reference if measure == "recall" else in_candidate).clamp(min=1)


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
