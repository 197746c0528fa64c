"""Raw pairs on their way to a corpus, one Arrow stream file per split; and the columns of raw and encoded files."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from bangbang.files import new_file

RAW = pa.schema([("source", pa.string()), ("targets", pa.list_(pa.string()))])
IDS = pa.list_(pa.int32())
ENCODED = RAW.append(pa.field("source_ids", IDS)).append(pa.field("target_ids", pa.list_(IDS)))
ROWS = 2_000  # per record batch


class RawFile:
    """Collects (source, targets) rows in an Arrow stream file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = 0
        self._file = new_file(path)
        self._writer = pa.ipc.new_stream(self._file, RAW)
        self._sources: list[str] = []
        self._targets: list[tuple[str, ...]] = []

    def add(self, source: str, targets: tuple[str, ...]) -> None:
        self._sources.append(source)
        self._targets.append(targets)
        self.rows += 1
        if len(self._sources) == ROWS:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()
        self._file.close()

    def _flush(self) -> None:
        if self._sources:
            self._writer.write_batch(pa.record_batch([self._sources, self._targets], schema=RAW))
            self._sources, self._targets = [], []


def record_batches(path: Path) -> Iterator[Any]:
    # read, not mapped: every page is needed once, and mapped pages would count as this process's memory
    with pa.OSFile(str(path)) as stored, pa.ipc.open_stream(stored) as stream:
        yield from stream


Side = Literal["sources", "targets", "both"]


def texts(path: Path, side: Side) -> Iterator[str]:
    """All texts of a raw file, of its sources, its references, or both."""
    for batch in record_batches(path):
        if side != "targets":
            yield from batch.column("source").to_pylist()
        if side != "sources":
            yield from batch.column("targets").flatten().to_pylist()
