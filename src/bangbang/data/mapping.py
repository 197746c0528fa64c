"""Arrow files by memory map, with pages that can be given back: what was read once need not stay in memory."""

import mmap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

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
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
