"""A Python function of texts as a reward of whole sequences.

Shapes: B rows.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import torch
from torch import Tensor

from bangbang.contracts import Increments, RewardState
from bangbang.errors import InputError
from bangbang.symbols import EOS, PAD

Decode = Callable[[list[list[int]]], list[str]]
"""The texts of sequences in our ids."""


class TextReward:
    """R(z | y) = fn(text of z, texts of y), in any scale; 0 for the empty prefix.

    It weighs the loss as it is: policy gradients take a baseline off it. What a single token would earn is not known.
    """

    def __init__(self, fn: Callable[[str, list[str]], float], decode: Decode, cache_size: int = 100_000) -> None:
        self.fn, self.decode = fn, decode
        self.score = lru_cache(maxsize=cache_size)(self._score)

    def _score(self, prediction: str, references: tuple[str, ...]) -> float:
        name = getattr(self.fn, "__name__", type(self.fn).__name__)
        try:
            found = float(self.fn(prediction, list(references)))
        except (TypeError, ValueError) as error:
            told = " ".join(str(error).split())[:200]
            raise InputError(f"reward {name}: fails for the text {prediction[:80]!r}: {told}") from error
        if not math.isfinite(found):
            raise InputError(f"reward {name}: gives {found} for the text {prediction[:80]!r}; it must be finite")
        return found

    def start(self, references: Tensor) -> "TextState":
        """`references`: token ids [B, T], or [B, M, T] with several per row; one that is all `<pad>` is absent."""
        several = references.unsqueeze(1) if references.ndim == 2 else references
        there = [[row for row in rows if any(row)] for rows in several.tolist()]
        texts = iter(self.decode([row for rows in there for row in rows]))
        return TextState(self, [tuple(next(texts) for _ in rows) for rows in there], references.device)


class TextState(RewardState):
    def __init__(
        self,
        reward: TextReward,
        references: Sequence[tuple[str, ...]],
        device: torch.device,
        prefixes: Sequence[list[int]] | None = None,
    ) -> None:
        self.reward, self.references, self.device = reward, references, device
        self.prefixes = [[] for _ in references] if prefixes is None else [list(prefix) for prefix in prefixes]

    def increments(self) -> Increments:
        raise InputError("a function of texts has no per-token increments; choose rloo, scst or mrt")

    def advance(self, tokens: Tensor) -> None:
        for prefix, token in zip(self.prefixes, tokens.tolist(), strict=True):
            if token != PAD and (not prefix or prefix[-1] != EOS):
                prefix.append(token)

    def value(self) -> Tensor:
        texts = self.reward.decode(self.prefixes)
        rows = zip(self.prefixes, texts, self.references, strict=True)
        found = [self.reward.score(text, references) if prefix else 0.0 for prefix, text, references in rows]
        return torch.tensor(found, device=self.device)

    def loss_weight(self) -> Tensor:
        return self.value()

    def select(self, rows: Tensor) -> "TextState":
        chosen = (rows.nonzero().squeeze(1) if rows.dtype == torch.bool else rows).tolist()
        kept = [self.references[row] for row in chosen], self.device, [self.prefixes[row] for row in chosen]
        return TextState(self.reward, *kept)
