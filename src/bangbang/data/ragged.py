"""Lists of token ids as Arrow keeps them: flat values and offsets, chunk by chunk, none of it copied."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


class Ragged:
    """A sequence of lists over the chunks of an Arrow list column.

    Offsets are checked once, here: a damaged file gives a ValueError, not somebody else's memory. `passed` hears the
    number of each chunk that was read in passing.
    """

    def __init__(self, chunks: Sequence[Any], passed: Callable[[int], None] = lambda chunk: None) -> None:
        self._offsets = [chunk.offsets.to_numpy() for chunk in chunks]
        self._values = [chunk.values for chunk in chunks]
        self._passed = passed
        for number, (offsets, values) in enumerate(zip(self._offsets, self._values, strict=True)):
            passed(number)
            if offsets[0] != 0 or offsets[-1] != len(values) or (offsets[1:] < offsets[:-1]).any():
                raise ValueError("offsets that do not fit their lists")
            if values.null_count:
                raise ValueError("a list with nothing in a place")
        self._starts = np.cumsum([0, *(len(chunk) for chunk in chunks)])

    def lengths(self) -> npt.NDArray[np.int32]:
        """The length of every list."""
        lengths = np.empty(self._starts[-1], np.int32)
        for number, offsets in enumerate(self._offsets):
            lengths[self._starts[number] : self._starts[number + 1]] = np.diff(offsets)
            self._passed(number)
        return lengths

    def take(self, indices: npt.NDArray[np.int64]) -> list[npt.NDArray[np.int32]]:
        """Views of the lists with these numbers; the values must be int32."""
        chunks = np.searchsorted(self._starts, indices, side="right") - 1
        return [self._view(chunk, index) for chunk, index in zip(chunks.tolist(), indices.tolist(), strict=True)]

    def _view(self, chunk: int, index: int) -> npt.NDArray[np.int32]:
        offsets = self._offsets[chunk]
        place = index - int(self._starts[chunk])
        values: npt.NDArray[np.int32] = self._values[chunk].to_numpy()
        return values[offsets[place] : offsets[place + 1]]
