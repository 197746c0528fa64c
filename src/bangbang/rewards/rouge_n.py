"""ROUGE-n: the paper's main reward."""

from collections.abc import Sequence
from typing import Literal

from torch import Tensor

from bangbang.errors import InputError
from bangbang.rewards.ngrams import NgramReward

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
