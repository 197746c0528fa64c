"""Lists of token ids as Arrow keeps them: flat values and offsets, chunk by chunk, none of it copied."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


class Ragged:
    """A sequence of lists over the chunks of an Arrow list column.

    Offsets are checked once, here: a damaged file gives a ValueError, not somebody else's memory.
    """

    def __init__(self, chunks: Sequence[Any]) -> None:
        self._offsets = [chunk.offsets.to_numpy() for chunk in chunks]
        self._values = [chunk.values for chunk in chunks]
        for offsets, values in zip(self._offsets, self._values, strict=True):
            if offsets[0] != 0 or offsets[-1] != len(values) or (offsets[1:] < offsets[:-1]).any():
                raise ValueError("offsets that do not fit their lists")
            if values.null_count:
                raise ValueError("a list with nothing in a place")
        self._starts = np.cumsum([0, *(len(chunk) for chunk in chunks)])

    def lengths(self) -> npt.NDArray[np.int32]:
        """The length of every list."""
        parts = (np.diff(offsets) for offsets in self._offsets)
        return np.concatenate([np.zeros(0, np.int32), *parts], dtype=np.int32)

    def take(self, indices: npt.NDArray[np.int64]) -> list[npt.NDArray[np.int32]]:
        """Views of the lists with these numbers; the values must be int32."""
        chunks = np.searchsorted(self._starts, indices, side="right") - 1
        return [self._view(chunk, index) for chunk, index in zip(chunks.tolist(), indices.tolist(), strict=True)]

    def _view(self, chunk: int, index: int) -> npt.NDArray[np.int32]:
        offsets = self._offsets[chunk]
        place = index - int(self._starts[chunk])
        values: npt.NDArray[np.int32] = self._values[chunk].to_numpy()
        return values[offsets[place] : offsets[place + 1]]
