"""Any Python function as a reward.

B rows · U candidate slots
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from bangbang.contracts import Bounds, Increments
from bangbang.errors import InputError
from bangbang.rewards.references import NOTHING, References
from bangbang.rewards.state import BaseReward, State, equal_if_close
from bangbang.symbols import PAD, SYMBOLS, UNK

Sentence = tuple[int, ...]
OTHER = "<other>"  # how a word of z that is in no reference is written, if it has no text


class FunctionReward(BaseReward):
    """R(z | y) = fn(candidate, references): tokens in lists, `</s>` included; 0 for the empty prefix.

    Tokens are ids or, if `texts` are given, texts[id]. An `<unk>` matches nothing: in references it is -1 or "<unk>",
    in candidates it stays 3 or is "<other>".

    At each step fn is called for the tokens of the references and `extra_candidates`, and once with `<unk>` in place of
    all other tokens: exact for the candidates, and for the rest if fn treats all words outside the references alike.
    Results are kept, the last `cache_size` of them, so samples of one example that begin alike pay once.
    `bounds`: the lowest and the highest score, which weigh the loss with 0 and 1.
    """

    def __init__(
        self,
        fn: Callable[[list[Any], list[list[Any]]], float],
        *,
        texts: Sequence[str] | None = None,
        extra_candidates: Sequence[int] = (),
        cache_size: int = 100_000,
        bounds: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        self.bounds = Bounds(*bounds)
        self.texts = texts
        self.extra_candidates = tuple(extra_candidates)

        @lru_cache(maxsize=cache_size)
        def score(candidate: Sentence, references: tuple[Sentence, ...]) -> float:
            found = float(fn(self.written(candidate, OTHER), [self.written(y, SYMBOLS[UNK]) for y in references]))
            if not math.isfinite(found):
                raise InputError(f"the metric gives {found} for {self.written(candidate, OTHER)}; it must be finite")
            return found

        self.score = score

    def written(self, sentence: Sentence, unknown: str) -> list[Any]:
        if self.texts is None:
            return list(sentence)
        return [unknown if token in (UNK, NOTHING) else self.texts[token] for token in sentence]

    def begin(self, references: References) -> "FunctionState":
        if self.extra_candidates:
            references = references.including(self.extra_candidates)
        return FunctionState(self, references)


class FunctionState(State):
    def __init__(self, reward: FunctionReward, references: References) -> None:
        super().__init__(torch.ones_like(references.lengths[:, 0], dtype=torch.bool), references.vocabulary_size)
        self.reward, self.bounds = reward, reward.bounds
        self.candidates = references.candidates  # [B, U]
        self.paid = torch.zeros_like(references.weights[:, 0], dtype=references.dtype)  # [B]
        self.prefixes: list[Sentence] = [()] * len(self.paid)
        self.references = [sentences(row) for row in references.tokens.tolist()]

    def increments(self) -> Increments:
        rows = zip(self.prefixes, self.references, self.candidates.tolist(), self.alive.tolist(), strict=True)
        scores = [self.row_scores(*row) for row in rows]
        # the difference is taken in double precision, on the processor, so that large scores keep small increments
        after = torch.tensor(scores, dtype=torch.float64).view(len(scores), -1)
        before = torch.tensor(self.current(), dtype=torch.float64)
        differences = equal_if_close(after, after.abs().amax(1)) - before[:, None]
        gains = differences.to(self.paid.dtype).to(self.paid.device) * self.alive[:, None]  # [B, U + 1]
        return Increments(self.candidates, gains[:, :-1], gains[:, -1])

    def row_scores(
        self, prefix: Sentence, references: tuple[Sentence, ...], candidates: list[int], alive: bool
    ) -> list[float]:
        """fn after each candidate, then after any other token."""
        if not alive:
            return [0.0] * (len(candidates) + 1)
        other = self.reward.score((*prefix, UNK), references)
        scores = (other if token == PAD else self.reward.score((*prefix, token), references) for token in candidates)
        return [*scores, other]

    def current(self) -> list[float]:
        pairs = zip(self.prefixes, self.references, strict=True)
        return [self.reward.score(prefix, references) if prefix else 0.0 for prefix, references in pairs]

    def follow(self, tokens: Tensor) -> None:
        steps = zip(self.prefixes, tokens.tolist(), self.alive.tolist(), strict=True)
        self.prefixes = [(*prefix, token) if alive else prefix for prefix, token, alive in steps]
        self.paid = torch.tensor(self.current(), dtype=self.paid.dtype, device=self.paid.device)

    def value(self) -> Tensor:
        return self.paid


def sentences(references: list[list[int]]) -> tuple[Sentence, ...]:
    """The references that are there, without padding, with NOTHING for `<unk>`."""
    known = ([NOTHING if token == UNK else token for token in reference] for reference in references)
    stripped = (tuple(token for token in reference if token != PAD) for reference in known)
    return tuple(reference for reference in stripped if reference)
