"""n-grams of a growing sequence that occur in its references, clipped, and the rewards made of their counts.

B rows · M references per row · G scores per row (M, or 1 where references are pooled) · T reference positions
N n-gram orders · P = 2^N sets of orders · U candidate slots

The next token v completes one n-gram of each order. Which of these match says everything about v that such a reward
can see: a set of orders, written as a number whose bit i stands for the i-th order. A step computes one score per
set, then looks up each candidate's set.
"""

from abc import abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor

from bangbang.errors import InputError
from bangbang.rewards.references import NOTHING, References
from bangbang.rewards.rows import PerRow
from bangbang.rewards.state import BaseReward, ScoredState, Several, checked_several


def ngram_totals(lengths: Tensor | int, orders: Sequence[int], start_symbol: bool, like: Tensor) -> Tensor:
    """Number of n-grams: max(0, L - n + 1), and one more for n ≥ 2 where `<s>` counts. [...] -> [..., N]"""
    offsets = [0 if n == 1 else start_symbol + 1 - n for n in orders]
    offset = torch.tensor(offsets, dtype=like.dtype, device=like.device)
    return ((lengths[..., None] if isinstance(lengths, Tensor) else lengths) + offset).clamp(min=0)


def ngram_counts(words: Tensor, orders: Sequence[int], start_symbol: bool, pooled: bool) -> Tensor:
    """How often the n-gram that ends at each position occurs in its reference, or at most in any. [B, M, N, T]

    0 where there is none: too near the start, or with a `<pad>` or `<unk>` in it.
    """
    rows, several, width = words.shape
    places = words.flatten(1)  # [B, M * T]
    same = (places[:, :, None] == places[:, None, :]) & (places != NOTHING)[:, :, None]
    same = same.view(rows, several, width, several, width)
    context = torch.ones_like(same)  # whether the n - 1 tokens before two positions are equal
    counts = []
    for n in range(1, max(orders) + 1):
        if n in orders:
            count = (context & same).sum(4)  # [B, M, T, M], by reference
            counts.append(count.amax(3) if pooled else count.diagonal(dim1=1, dim2=3).transpose(1, 2))
        before = torch.zeros_like(same)
        before[:, :, 1:, :, 1:] = (context & same)[:, :, :-1, :, :-1]
        before[:, :, 0, :, 0] = start_symbol and n == 1
        context = before
    return torch.stack(counts, dim=2).to(torch.int32)


class NgramMatches(PerRow):
    """Which n-grams the next token could complete, given z so far: O(N·T) per row and step.

    contexts[j] is how many tokens before reference position j are the last tokens of z (at most max n - 1), so an
    n-gram that ends at j can be completed iff contexts[j] ≥ n - 1 and y_j follows. `left` is its clipped count less
    the times z has it: all positions of one n-gram are matched together and count down together.
    """

    def __init__(self, references: References, orders: Sequence[int], start_symbol: bool, pooled: bool = False) -> None:
        self.words = references.words
        self.longest = max(orders) - 1
        self.left = ngram_counts(references.words, orders, start_symbol, pooled)  # [B, M, N, T]
        self.contexts = torch.zeros_like(references.words, dtype=torch.int32)  # [B, M, T]
        self.contexts[:, :, 0] = int(start_symbol)
        self.needed = Constant(torch.tensor([n - 1 for n in orders], dtype=torch.int32, device=self.words.device))

    def reached(self) -> Tensor:
        """Whether z ends with the first n - 1 tokens of the n-gram that ends at each position. [B, M, N, T]"""
        return self.contexts[:, :, None, :] >= self.needed.tensor[:, None]

    def hits(self) -> Tensor:
        """Whether y_j would be one more match of order n. [B, M, N, T]"""
        return self.reached() & (self.left > 0)

    def follow(self, tokens: Tensor) -> Tensor:
        """Append z_t; gives where it stands in the references. [B, M, T]"""
        here = self.words == tokens[:, None, None]
        self.left = self.left - (self.reached() & here[:, :, None]).int()
        contexts = torch.zeros_like(self.contexts)
        contexts[:, :, 1:] = ((self.contexts + 1) * here)[:, :, :-1]
        self.contexts = contexts.clamp_(max=self.longest)
        return here


class Constant:
    """A tensor that all rows share, and that `select` leaves alone."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor


class NgramReward(BaseReward):
    """A reward that is a function of clipped n-gram matches and lengths."""

    pooled = False  # whether several references are one bag of n-grams, each clipped by its largest count

    def __init__(self, orders: Sequence[int], start_symbol: bool, several: str) -> None:
        if not orders or min(orders) < 1 or len(set(orders)) < len(orders):
            raise InputError(f"n-gram orders must be distinct and at least 1, not {tuple(orders)}")
        self.orders = tuple(sorted(orders))
        self.start_symbol = start_symbol
        self.several: Several = checked_several(several)

    @abstractmethod
    def score(self, matches: Tensor, length: int, references: References) -> Tensor:
        """R of a candidate of `length` tokens for several sets of clipped matches: [B, G, P, N] -> [B, G, P]"""

    def totals(self, lengths: Tensor | int, like: Tensor) -> Tensor:
        """Number of n-grams of each order: [...] -> [..., N]"""
        return ngram_totals(lengths, self.orders, self.start_symbol, like)

    def begin(self, references: References) -> "NgramState":
        return NgramState(self, references)


class NgramState(ScoredState):
    def __init__(self, reward: NgramReward, references: References) -> None:
        super().__init__(references, reward.several, scores=1 if reward.pooled else None)
        self.reward = reward
        self.ngrams = NgramMatches(references, reward.orders, reward.start_symbol, reward.pooled)
        rows, groups = self.scores.shape
        self.slots = references.slots.reshape(rows, groups, -1)  # [B, G, T], or [B, 1, M * T]
        self.matches = self.scores.new_zeros(rows, groups, len(reward.orders))
        sets = torch.arange(2 ** len(reward.orders), device=self.slots.device)
        powers = 2 ** torch.arange(len(reward.orders), device=self.slots.device)
        self.powers = Constant(powers)  # [N]
        self.members = Constant((sets[:, None] & powers > 0).to(self.scores.dtype))  # [P, N]
        self.ahead: tuple[Tensor, Tensor] | None = None

    def look_ahead(self) -> tuple[Tensor, Tensor]:
        """The set of orders that each y_j would match, and the score after each set. [B, G, T], [B, G, P]"""
        if self.ahead is None:
            sets = (self.ngrams.hits() * self.powers.tensor[:, None]).sum(2)  # [B, M, N, T] -> [B, M, T]
            matches = self.matches[:, :, None] + self.members.tensor
            self.ahead = sets.view_as(self.slots), self.reward.score(matches, self.t + 1, self.references)
        return self.ahead

    def next_scores(self) -> Tensor:
        sets, scores = self.look_ahead()
        width = self.references.candidates.shape[1] + 1
        # of all positions of a token the one with the longest context has all the others' orders: the largest number
        chosen = sets.new_zeros(*sets.shape[:2], width).scatter_reduce_(2, self.slots, sets, "amax")  # [B, G, U + 1]
        return scores.gather(2, chosen)

    def follow_scores(self, tokens: Tensor) -> Tensor:
        sets, scores = self.look_ahead()
        here = self.ngrams.follow(tokens).view_as(sets)
        chosen = (sets * here).amax(2)  # [B, G]
        self.matches = self.matches + self.members.tensor[chosen]
        self.ahead = None
        return scores.gather(2, chosen[:, :, None]).squeeze(2)
