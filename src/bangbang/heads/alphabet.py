"""A foreign vocabulary in our ids, as tensors: `bangbang.translation`, and what may not be generated."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from bangbang.symbols import PAD
from bangbang.translation import NONE, Translation, check_tokens


class Alphabet:
    """Translates token ids of any shape, on any device."""

    def __init__(
        self, foreign_size: int, ends: Sequence[int], unknown: int | None = None, forbidden: Iterable[int] = ()
    ) -> None:
        """`ends`, `unknown`: as `Translation` has them.

        `forbidden`: tokens that are never generated. An end that is forbidden too, such as one that also pads, stays
        an end.
        """
        check_tokens("forbidden", forbidden := [*forbidden], foreign_size)
        translation = Translation(foreign_size, ends, unknown)
        self.size = translation.size
        self.forbidden = sorted({*forbidden, *ends[1:]} - {ends[0]})
        theirs, ours = torch.tensor(translation.theirs), torch.tensor(translation.ours)
        theirs[torch.isin(theirs, torch.tensor(self.forbidden, dtype=torch.long))] = NONE
        self.tables = theirs, ours

    def to_theirs(self, tokens: Tensor) -> Tensor:
        """Their ids of our tokens; -1 where they have none that may be generated."""
        return self.on(tokens.device)[0][tokens]

    def to_ours(self, tokens: Tensor) -> Tensor:
        """Our ids of their tokens; what is negative, as in labels that are not to be learnt, is `<pad>`."""
        return self.on(tokens.device)[1][tokens.clamp(min=0)].masked_fill(tokens < 0, PAD)

    def on(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """The tables, on the device that they are used on."""
        if self.tables[0].device != device:
            self.tables = self.tables[0].to(device), self.tables[1].to(device)
        return self.tables
