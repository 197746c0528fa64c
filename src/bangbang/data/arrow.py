"""Arrow files by memory map: pages that can be given back, and lists of token ids without a copy.

What was read once need not stay in memory. Lists are flat values and offsets, chunk by chunk, as Arrow keeps them.
"""

import mmap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bangbang.plain_files import open_plain

# What is read in passing is given back this often: touching one list in each of so many chunks maps a few megabytes.
CHUNKS_BETWEEN_RELEASES = 64


class MappedTable:
    """The record batches of one or several Arrow stream files, as one table. Nothing is read until it is used."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._maps = [mapped(path) for path in paths]
        batches = []
        for content in self._maps:
            stream = pa.ipc.open_stream(pa.py_buffer(content))
            for batch in stream:
                batch.validate()
                batches.append(batch)
                self.release_sometimes(len(batches))
        self.table: Any = pa.Table.from_batches(batches, stream.schema)
        self.release()

    def release_sometimes(self, chunk: int) -> None:
        """`release`, once in so many chunks that are read one after the other."""
        if chunk % CHUNKS_BETWEEN_RELEASES == 0:
            self.release()

    def release(self) -> None:
        """Give the pages back to the system, which keeps them cached while there is room.

        Mapped pages count as the process's own, and every access maps 16 neighbours: without this, a training run
        would seem to grow to the size of its corpus.
        """
        for content in self._maps:
            content.madvise(mmap.MADV_DONTNEED)


def mapped(path: Path) -> mmap.mmap:
    with open_plain(path) as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


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
