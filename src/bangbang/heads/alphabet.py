"""A foreign vocabulary in our ids, as tensors: `bangbang.translation`, and what may not be generated."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

import torch
from torch import Tensor

from bangbang.symbols import BOS, PAD
from bangbang.translation import NONE, Translation, check_tokens


class Tables(NamedTuple):
    read: Tensor  # their id of each of ours, -1 where they have none
    theirs: Tensor  # the same, and -1 for tokens that are never generated
    ours: Tensor  # our id of each of theirs


class Alphabet:
    """Translates token ids of any shape, on any device."""

    def __init__(
        self,
        foreign_size: int,
        ends: Sequence[int],
        unknown: int | None = None,
        forbidden: Iterable[int] = (),
        rows: int | None = None,
    ) -> None:
        """`ends`, `unknown`: as `Translation` has them.

        `forbidden`: tokens that are never generated. An end that is forbidden too, such as one that also pads, stays
        an end. An output layer of more `rows` than there are tokens never generates the others.
        """
        check_tokens("forbidden", forbidden := [*forbidden], foreign_size)
        translation = Translation(foreign_size, ends, unknown)
        rows = max(foreign_size, rows or 0)
        never = {*forbidden, *ends[1:]} - {ends[0]} | {*range(foreign_size, rows)}
        ours = [*translation.ours, *[PAD] * (rows - foreign_size)]
        self._set(translation.theirs, ours, never)

    @classmethod
    def same(cls, size: int) -> Self:
        """Of a layer whose ids are ours."""
        alphabet = cls.__new__(cls)
        alphabet._set([NONE, *range(1, size)], list(range(size)), {PAD, BOS})
        return alphabet

    def _set(self, theirs: list[int], ours: list[int], forbidden: set[int]) -> None:
        self.size, self.forbidden = len(theirs), sorted(forbidden)
        read = torch.tensor(theirs)
        never = torch.isin(read, torch.tensor(self.forbidden, dtype=torch.long))
        self.tables = Tables(read, read.masked_fill(never, NONE), torch.tensor(ours))

    def to_theirs(self, tokens: Tensor) -> Tensor:
        """Their ids of our tokens; -1 where they have none that may be generated."""
        return self.on(tokens.device).theirs[tokens]

    def to_read(self, tokens: Tensor, filler: int) -> Tensor:
        """Their ids of our tokens as a model reads them, generated or not; `filler` where they have none."""
        read = self.on(tokens.device).read[tokens]
        return read.masked_fill(read == NONE, filler)

    def to_ours(self, tokens: Tensor) -> Tensor:
        """Our ids of their tokens; what is negative, as in labels that are not to be learnt, is `<pad>`."""
        return self.on(tokens.device).ours[tokens.clamp(min=0)].masked_fill(tokens < 0, PAD)

    def on(self, device: torch.device) -> Tables:
        """The tables, on the device that they are used on."""
        if self.tables.read.device != device:
            self.tables = Tables(*(table.to(device) for table in self.tables))
        return self.tables
