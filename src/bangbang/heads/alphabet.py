"""A foreign vocabulary in our ids.

Ids 0 to 3 are `<pad>`, `<s>`, `</s>` and `<unk>`, as everywhere in this package; token i of the foreign vocabulary is
i + 4. Its ends are `</s>`, and its token for unknown words, where it has one, is `<unk>`.
"""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from bangbang.errors import InputError
from bangbang.symbols import EOS, PAD, SYMBOLS, UNK


class Alphabet:
    """Translates token ids of any shape, on any device."""

    def __init__(
        self, foreign_size: int, ends: Sequence[int], unknown: int | None = None, forbidden: Iterable[int] = ()
    ) -> None:
        """`ends`: the tokens that end a sequence; the first one is written for `</s>`, the others are only read.

        `forbidden`: tokens that are never generated. An end that is forbidden too, such as one that also pads, stays
        an end. An unknown token that is an end stays an end as well, and `<unk>` then has no counterpart.
        """
        named = {"end": ends, "unknown": [] if unknown is None else [unknown], "forbidden": (forbidden := [*forbidden])}
        for name, tokens in named.items():
            if outside := [token for token in tokens if not 0 <= token < foreign_size]:
                raise InputError(f"{name} token {outside[0]} is outside a vocabulary of {foreign_size} tokens")
        if not ends:
            raise InputError("a vocabulary needs an end token: name at least one")
        self.size = foreign_size + len(SYMBOLS)
        self.forbidden = sorted({*forbidden, *ends[1:]} - {ends[0]})
        theirs = torch.arange(-len(SYMBOLS), foreign_size)
        ours = torch.arange(foreign_size) + len(SYMBOLS)
        theirs[: len(SYMBOLS)] = -1
        if unknown is not None and unknown not in ends:
            theirs[unknown + len(SYMBOLS)], theirs[UNK], ours[unknown] = -1, unknown, UNK
        for end in ends:
            theirs[end + len(SYMBOLS)], ours[end] = -1, EOS
        theirs[EOS] = ends[0]
        theirs[torch.isin(theirs, torch.tensor(self.forbidden, dtype=torch.long))] = -1
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
