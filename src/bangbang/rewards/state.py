"""What the states of all rewards share: finished rows, selection of rows, several references.

B rows · M references per row (1 where a reward pools them) · U candidate slots
"""

from abc import ABC, abstractmethod
from typing import Literal

import torch
from torch import Tensor

from bangbang.contracts import Bounds, Increments, RewardState
from bangbang.errors import InputError
from bangbang.rewards.references import PerRow, References
from bangbang.symbols import EOS

Several = Literal["mean", "best"]


class BaseReward(ABC):
    """A reward of this package: `start` checks the references, `begin` is what a reward defines."""

    bounds = Bounds()
    """What R lies between; where it may lie lower or higher, what it is cut to as a weight of the loss."""

    def start(
        self,
        references: Tensor | References,
        *,
        dtype: torch.dtype = torch.float32,
        vocabulary_size: int | None = None,
        max_length: int | None = None,
    ) -> RewardState:
        """The state of empty prefixes.

        `references`: token ids [B, T], or [B, M, T] with several per row, each ending with `</s>` and padded; a
        reference that is all `<pad>` is absent. Ids from `vocabulary_size` on and references longer than `max_length`
        are errors. Or prepared `References`, which carry their own dtype and limits.
        """
        if not isinstance(references, References):
            references = References.of(references, dtype=dtype, vocabulary_size=vocabulary_size, max_length=max_length)
        return self.begin(references)

    @abstractmethod
    def begin(self, references: References) -> RewardState:
        """The state of empty prefixes for checked references."""


class State(PerRow, ABC):
    """A `RewardState` that knows which rows are alive and how many tokens they have."""

    bounds = Bounds()
    """Those of its reward."""

    def __init__(self, alive: Tensor, vocabulary_size: int | None = None) -> None:
        self.alive = alive  # [B]
        self.vocabulary_size = vocabulary_size
        self.t = 0  # tokens so far: the same for all rows that are alive

    @abstractmethod
    def increments(self) -> Increments: ...

    @abstractmethod
    def value(self) -> Tensor: ...

    def main_value(self) -> Tensor:
        return self.value()

    def loss_weight(self) -> Tensor:
        return self.bounds.share(self.main_value())

    @abstractmethod
    def follow(self, tokens: Tensor) -> None:
        """Append z_t: what `advance` does apart from counting. The value of finished rows must stay."""

    def advance(self, tokens: Tensor) -> None:
        check_tokens(tokens, self.alive, self.vocabulary_size)
        self.proceed(tokens)

    def proceed(self, tokens: Tensor) -> None:
        """`advance` with tokens that are checked."""
        self.follow(tokens)
        self.t += 1
        self.alive = self.alive & (tokens != EOS)


def check_tokens(tokens: Tensor, like: Tensor, vocabulary_size: int | None) -> None:
    if tokens.shape != like.shape or tokens.dtype != torch.long:
        expected = f"{list(like.shape)} token ids of dtype torch.int64"
        raise InputError(f"advance needs {expected}, not {list(tokens.shape)} of {tokens.dtype}")
    # elsewhere, looking at the numbers would make the program wait for the device
    if tokens.device.type == "cpu" and tokens.numel():
        low, high = (int(bound) for bound in tokens.aminmax())
        if low < 0 or (vocabulary_size is not None and high >= vocabulary_size):
            raise InputError(f"token id {low if low < 0 else high} is outside the vocabulary")


class ScoredState(State):
    """A state whose reward is one score per reference, then their mean or the best of them.

    R(z | y_1 ... y_M) = mean_m or max_m of R_m(z): exact for both, since whole scores are combined before the
    difference is taken.
    """

    scores: Tensor  # [B, M]

    def __init__(self, references: References, several: Several, scores: int | None = None) -> None:
        """`scores`: how many scores a row has, if not one per reference."""
        super().__init__(torch.ones_like(references.lengths[:, 0], dtype=torch.bool), references.vocabulary_size)
        self.references = references
        self.several = several
        self.scores = torch.zeros_like(references.weights[:, :scores])

    @abstractmethod
    def next_scores(self) -> Tensor:
        """R_m(z_{1:t} v) for every candidate v, then for any other token. [B, M, U + 1]"""

    @abstractmethod
    def follow_scores(self, tokens: Tensor) -> Tensor:
        """Append z_t and give R_m(z_{1:t}). [B, M]"""

    def tokens(self) -> Tensor:
        """The candidates. [B, U]"""
        return self.references.candidates

    def increments(self) -> Increments:
        scores = self.next_scores()  # [B, M, U + 1]
        after = equal_if_close(self.combined(scores), scores.abs().flatten(1).amax(1))  # [B, U + 1]
        gains = (after - self.combined(self.scores)[:, None]).where(self.alive[:, None], 0).to(self.references.dtype)
        return Increments(self.tokens(), gains[:, :-1], gains[:, -1])

    def follow(self, tokens: Tensor) -> None:
        self.scores = self.follow_scores(tokens).where(self.alive[:, None], self.scores)

    def value(self) -> Tensor:
        return self.combined(self.scores).to(self.references.dtype)

    def combined(self, scores: Tensor) -> Tensor:
        return combine(scores, self.references.weights, self.several)


def equal_if_close(scores: Tensor, terms: Tensor) -> Tensor:
    """Scores of which two that are the same number, but summed in different orders, become equal to the bit. [B, K]

    In ascending order, a score joins the one before it if they differ by less than a share of themselves, or by less
    than the rounding errors of the largest of their `terms` [B]. Nothing is absolute: of a long text one token may be
    worth 1e-20, and another half of it.
    """
    rounding = torch.finfo(scores.dtype).eps
    ordered, order = scores.sort(1)
    above = ordered[:, 1:]
    closeness = torch.add(16 * rounding * terms[:, None], above.abs(), alpha=rounding**0.75)
    above.masked_fill_(above - ordered[:, :-1] <= closeness, -torch.inf)
    return torch.empty_like(scores).scatter_(1, order, ordered.cummax(1).values)


def combine(scores: Tensor, weights: Tensor, several: Several) -> Tensor:
    """Mean or maximum over the references that are there: [B, M, ...], [B, M] -> [B, ...]"""
    if scores.shape[1] == 1:
        return scores[:, 0]
    weights = weights.view(*weights.shape, *[1] * (scores.ndim - 2))
    if several == "best":
        return scores.masked_fill(weights == 0, -torch.inf).amax(1)
    return (scores * weights).sum(1)


def checked_several(several: str) -> Several:
    if several not in ("mean", "best"):
        raise InputError(f"several must be 'mean' or 'best', not {several!r}")
    return several  # type: ignore[return-value]
