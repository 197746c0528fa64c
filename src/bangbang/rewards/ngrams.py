"""n-grams of a growing sequence that occur in its references, clipped, and the rewards made of their counts.

B rows · M references per row · G scores per row (M, or 1 where references are pooled) · T reference positions
N n-gram orders · P sets of orders · U candidate slots

The next token v completes one n-gram of each order. Which of these match says everything about v that such a reward
can see: a set of orders. A step computes one score per set, then looks up each candidate's set.
"""

from abc import abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor

from bangbang.errors import InputError
from bangbang.rewards.references import NOTHING, PerRow, References
from bangbang.rewards.state import BaseReward, ScoredState, Several, checked_several


def ngram_total(length: int, n: int, start_symbol: bool) -> int:
    """Number of n-grams of a sequence: max(0, L - n + 1), and one more for n ≥ 2 where `<s>` counts."""
    return max(0, length - n + 1 + (start_symbol and n > 1))


def ngram_totals(lengths: Tensor, orders: Sequence[int], start_symbol: bool) -> Tensor:
    """The same for many sequences: [...] -> [..., N]"""
    longest = int(lengths.max()) if lengths.numel() else 0
    table = [[ngram_total(length, n, start_symbol) for n in orders] for length in range(longest + 1)]
    return torch.tensor(table, device=lengths.device)[lengths]


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
    return torch.stack(counts, dim=2)


class NgramMatches(PerRow):
    """Which n-grams the next token could complete, given z so far: O(T) per row and step.

    Each reference position j has a number with one field of bits per order, all orders handled at once:
    `left`, how often the n-gram that ends at j may still be matched; `reached`, 1 iff z ends with the n - 1 tokens
    before j. So y_j as the next token matches the n-grams that are reached and of which some are left. All positions
    of one n-gram are reached together and count down together.
    """

    def __init__(self, references: References, orders: Sequence[int], start_symbol: bool, pooled: bool = False) -> None:
        self.words = references.words
        self.field = field = 60 // max(orders)  # bits per order
        if self.words.shape[2] >= 2 ** (field - 1):
            raise InputError(f"references of {self.words.shape[2]} tokens are too long for {max(orders)}-grams")
        self.ones = sum(1 << field * n for n in range(max(orders)))  # 1 in every field
        counts = ngram_counts(references.words, orders, start_symbol, pooled)  # [B, M, N, T]
        shifts = torch.tensor([field * (n - 1) for n in orders], device=self.words.device)
        self.left = (counts << shifts[:, None]).sum(2)  # [B, M, T]
        self.reached = torch.ones_like(self.words)  # [B, M, T]
        if start_symbol:
            self.reached[:, :, 0] += 1 << field

    def sets(self) -> Tensor:
        """The orders of which y_j would be one more match, 1 in the field of each. [B, M, T]"""
        # adding the largest number without its top bit sets the top bit of every field that is not zero
        some_left = self.left + self.ones * (2 ** (self.field - 1) - 1) >> (self.field - 1)
        sets: Tensor = self.reached & some_left & self.ones
        return sets

    def set_numbers(self, sets: Tensor) -> Tensor:
        """Sets of orders as small numbers, bit n - 1 for order n: 2^field ≡ 2 modulo 2^field - 2."""
        numbers: Tensor = sets % (2**self.field - 2)
        return numbers

    def follow(self, tokens: Tensor, sets: Tensor) -> Tensor:
        """Append z_t, given the `sets` before it; gives the orders that it matches where it stands. [B, M, T]"""
        here = self.words == tokens[:, None, None]
        matched = sets * here
        self.left = self.left - matched
        # what is reached at j + 1 is one token longer than what z_t reached at j; n = 1 is always reached
        longer = (self.reached * here)[:, :, :-1] << self.field & self.ones
        self.reached = torch.ones_like(self.words)
        self.reached[:, :, 1:] += longer
        return matched


class Constant:
    """A tensor that all rows share, and that `select` leaves alone."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor


class NgramReward(BaseReward):
    """A reward that is a function of clipped n-gram matches and lengths."""

    pooled = False  # whether several references are one bag of n-grams, each clipped by its largest count

    def __init__(self, orders: Sequence[int], start_symbol: bool, several: str) -> None:
        if not orders or min(orders) < 1 or max(orders) > 6 or len(set(orders)) < len(orders):
            raise InputError(f"n-gram orders must be distinct and between 1 and 6, not {tuple(orders)}")
        self.orders = tuple(sorted(orders))
        self.start_symbol = start_symbol
        self.several: Several = checked_several(several)

    @abstractmethod
    def score(self, matches: Tensor, length: int, sizes: Tensor) -> Tensor:
        """R of a candidate of `length` tokens for several sets of clipped matches: [B, G, N, P] -> [B, G, P]"""

    def sizes(self, references: References) -> Tensor:
        """What `score` needs to know of the references: their number of n-grams, if nothing else. [B, M, N]"""
        return ngram_totals(references.lengths, self.orders, self.start_symbol).to(references.weights.dtype)

    def totals(self, length: int) -> list[int]:
        """Number of n-grams of a candidate, by order."""
        return [ngram_total(length, n, self.start_symbol) for n in self.orders]

    def begin(self, references: References) -> "NgramState":
        return NgramState(self, references)


class NgramState(ScoredState):
    def __init__(self, reward: NgramReward, references: References) -> None:
        super().__init__(references, reward.several, scores=1 if reward.pooled else None)
        self.reward = reward
        self.sizes = reward.sizes(references)
        self.ngrams = NgramMatches(references, reward.orders, reward.start_symbol, reward.pooled)
        rows, groups = self.scores.shape
        self.slots = references.slots.reshape(rows, groups, -1)  # [B, G, T], or [B, 1, M * T]
        self.matches = self.scores.new_zeros(rows, groups, len(reward.orders))
        sets = torch.arange(2 ** max(reward.orders), device=self.slots.device)
        bits = torch.tensor([2 ** (n - 1) for n in reward.orders], device=self.slots.device)
        self.members = Constant((sets & bits[:, None] > 0).to(self.scores.dtype))  # [N, P]
        self.ahead: tuple[Tensor, Tensor] | None = None

    def look_ahead(self) -> tuple[Tensor, Tensor]:
        """The set of orders that each y_j would match, and the score after each set. [B, M, T], [B, G, P]"""
        if self.ahead is None:
            matches = self.matches[:, :, :, None] + self.members.tensor
            self.ahead = self.ngrams.sets(), self.reward.score(matches, self.t + 1, self.sizes)
        return self.ahead

    def next_scores(self) -> Tensor:
        sets, scores = self.look_ahead()
        width = self.references.candidates.shape[1] + 1
        # of all positions of a token the one with the longest context has all the others' orders: the largest number
        chosen = sets.new_zeros(*scores.shape[:2], width)  # [B, G, U + 1]
        chosen.scatter_reduce_(2, self.slots, sets.view_as(self.slots), "amax")
        return scores.gather(2, self.ngrams.set_numbers(chosen))

    def follow_scores(self, tokens: Tensor) -> Tensor:
        sets, scores = self.look_ahead()
        matched = self.ngrams.follow(tokens, sets)
        chosen = self.ngrams.set_numbers(matched.view_as(self.slots).amax(2))  # [B, G]
        self.matches = self.matches + self.members.tensor.T[chosen]
        self.ahead = None
        return scores.gather(2, chosen[:, :, None]).squeeze(2)
