"""Sentence BLEU and GLEU."""

from typing import Literal

import torch
from torch import Tensor

from bangbang.rewards.ngrams import NgramReward
from bangbang.rewards.references import References


class Bleu(NgramReward):
    """Smoothed sentence BLEU, between 0 and 1: sacrebleu's `sentence_bleu` with its defaults, for every prefix.

        R(z | y) = BP · (Π_{n ≤ k} p_n)^(1/k),   BP = exp(min(0, 1 - r/|z|)),   k = the largest n ≤ max_n that z has

    p_n = m_n / c_n(z) and, for the i-th order without a match, 1 / (2^i c_n(z)) (smoothing "exp"); 0 if no n-gram
    matches at all. Several references are one bag: an n-gram is clipped by its largest count in any of them, and r is
    the length nearest to |z|, the shorter of two. `</s>` is a token; `<unk>` matches nothing. `start_symbol=False`
    gives sacrebleu's number; with it, one `<s>` before both sides counts in n-grams of order ≥ 2.

    Exact for every token: all tokens outside the references share `rest`.
    """

    pooled = True

    def __init__(self, max_n: int = 4, *, start_symbol: bool = True) -> None:
        super().__init__(range(1, max_n + 1), start_symbol, "mean")

    def sizes(self, references: References) -> Tensor:
        return references.lengths.to(references.weights.dtype)  # [B, M]

    def score(self, matches: Tensor, length: int, sizes: Tensor) -> Tensor:
        penalty = brevity_penalty(length, sizes)  # [B]
        return penalty[:, None, None] * smoothed_precision(matches, sizes.new_tensor(self.totals(length)))


def brevity_penalty(length: int, reference_lengths: Tensor) -> Tensor:
    """exp(min(0, 1 - r/c)), r the reference length nearest to c, the shorter of two: [B, M] -> [B]"""
    # twice the distance, plus one for longer references: the shorter of two equally near ones wins
    distance = 2 * (reference_lengths - length).abs() + (reference_lengths > length)
    nearest = distance.masked_fill(reference_lengths == 0, torch.inf).argmin(1, keepdim=True)
    return (1 - reference_lengths.gather(1, nearest).squeeze(1) / length).clamp(max=0).exp()


def smoothed_precision(matches: Tensor, in_candidate: Tensor) -> Tensor:
    """Geometric mean of p_n over the orders that the candidate has, smoothed: [..., N, P], [N] -> [..., P]"""
    orders = int((in_candidate > 0).sum())
    matches, in_candidate = matches[..., :orders, :], in_candidate[:orders, None]
    missed = matches == 0
    smoothed = matches.where(~missed, 0.5 ** missed.cumsum(-2).to(matches.dtype))
    return (smoothed / in_candidate).prod(-2) ** (1 / orders) * ~missed.all(-2)


class Gleu(NgramReward):
    """Sentence GLEU (Wu et al. 2016): the smaller of precision and recall over all n-grams of orders 1 ... max_n.

        R(z | y) = Σ_n m_n / max(Σ_n c_n(z), Σ_n c_n(y))

    Several references: the best one, as in NLTK, or the mean. `start_symbol=False` gives NLTK's number.
    Exact for every token: all tokens outside the references share `rest`.
    """

    def __init__(self, max_n: int = 4, *, start_symbol: bool = True, several: Literal["mean", "best"] = "best") -> None:
        super().__init__(range(1, max_n + 1), start_symbol, several)

    def sizes(self, references: References) -> Tensor:
        return super().sizes(references).sum(2)  # [B, M]

    def score(self, matches: Tensor, length: int, sizes: Tensor) -> Tensor:
        return matches.sum(2) / sizes.clamp(min=sum(self.totals(length)))[:, :, None]
