"""From pairs to Arrow: raw text first, then text and token ids side by side, a few thousand rows at a time."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bangbang.data.files import identity
from bangbang.data.vocabulary import Vocabulary
from bangbang.features import FeatureTable
from bangbang.files import write_whole
from bangbang.symbols import EOS, UNK

ARROW_FILE = "data-00000-of-00001.arrow"
ROWS = 2_000  # per record batch
RAW = pa.schema([("source", pa.string()), ("targets", pa.list_(pa.string()))])
IDS = pa.list_(pa.int32())
ENCODED = RAW.append(pa.field("source_ids", IDS)).append(pa.field("target_ids", pa.list_(IDS)))


class RawFile:
    """Collects (source, targets) rows in an Arrow stream file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = 0
        self._writer = pa.ipc.new_stream(str(path), RAW)
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

    def _flush(self) -> None:
        if self._sources:
            self._writer.write_batch(pa.record_batch([self._sources, self._targets], schema=RAW))
            self._sources, self._targets = [], []


def record_batches(path: Path) -> Iterator[Any]:
    # read, not mapped: every page is needed once, and mapped pages would count as this process's memory
    with pa.OSFile(str(path)) as stored, pa.ipc.open_stream(stored) as stream:
        yield from stream


def texts(path: Path, sources: bool) -> Iterator[str]:
    """All texts of a raw file: the references, and the sources if they are texts."""
    for batch in record_batches(path):
        if sources:
            yield from batch.column("source").to_pylist()
        yield from batch.column("targets").flatten().to_pylist()


class Side:
    """Counts over one side, source or target, of a split."""

    def __init__(self) -> None:
        self.sequences = self.tokens = self.unknown = self.cut = 0

    def add(self, sequences: list[list[int]], limit: int) -> list[list[int]]:
        """Count the sequences and cut them to `limit` tokens."""
        kept = [ids[:limit] for ids in sequences]
        self.sequences += len(kept)
        self.tokens += sum(map(len, kept))
        self.unknown += sum(ids.count(UNK) for ids in kept)
        self.cut += sum(len(ids) > limit for ids in sequences)
        return kept

    def report(self) -> dict[str, float]:
        return {
            "mean_tokens": self.tokens / max(1, self.sequences),
            "unknown_share": self.unknown / max(1, self.tokens),
            "truncated_share": self.cut / max(1, self.sequences),
        }


class Encoder:
    """Turns raw files into splits that `datasets` can load."""

    def __init__(
        self, vocabulary: Vocabulary, max_source_length: int, max_target_length: int, images: FeatureTable | None
    ) -> None:
        self._vocabulary, self._images = vocabulary, images
        self._source_limit = max_source_length
        self._target_limit = max_target_length - 1  # room for EOS
        self._digest = hashlib.blake2b(digest_size=16)
        if images:
            self._digest.update(json.dumps(identity(images.path)).encode())

    @property
    def fingerprint(self) -> str:
        """A hash of all that was encoded so far."""
        return self._digest.hexdigest()

    def encode(self, raw: Path, folder: Path) -> Iterator[int]:
        """Write a split's folder, yielding the rows done so far; `report` tells of it afterwards."""
        self._source, self._target, self._rows = Side(), Side(), 0
        folder.mkdir()
        with pa.ipc.new_stream(str(folder / ARROW_FILE), ENCODED) as writer:
            for batch in record_batches(raw):
                writer.write_batch(self._encode_batch(batch))
                self._rows += batch.num_rows
                yield self._rows
        describe(folder, self.fingerprint)

    def report(self) -> dict[str, Any]:
        """Counts of the split; images have no tokens to count."""
        sides = {"target": self._target} if self._images else {"source": self._source, "target": self._target}
        counts = {"rows": self._rows, "examples": self._target.sequences}
        return counts | {name: side.report() for name, side in sides.items()}

    def _encode_batch(self, batch: Any) -> Any:
        sources, targets = batch.column("source"), batch.column("targets")
        source_ids = self._source_ids(sources.to_pylist())
        target_ids = self._target.add(self._vocabulary.encode_batch(targets.flatten().to_pylist()), self._target_limit)
        for ids in target_ids:
            ids.append(EOS)
        columns = [sources, targets, lists(source_ids), pa.ListArray.from_arrays(targets.offsets, lists(target_ids))]
        for column in columns:
            for buffer in column.buffers():
                self._digest.update(b"" if buffer is None else buffer)
        return pa.record_batch(columns, schema=ENCODED)

    def _source_ids(self, sources: list[str]) -> list[list[int]]:
        """Token ids, or of an image its one row in the table of features."""
        if self._images:
            return [[row] for name in sources if (row := self._images.row(name)) is not None]
        return self._source.add(self._vocabulary.encode_batch(sources), self._source_limit)


def lists(sequences: list[list[int]]) -> Any:
    """An Arrow list array of int32."""
    offsets: npt.NDArray[np.int32] = np.zeros(len(sequences) + 1, dtype=np.int32)
    np.cumsum([len(ids) for ids in sequences], out=offsets[1:])
    values = np.fromiter(flat(sequences), dtype=np.int32, count=int(offsets[-1]))
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values))


def flat(sequences: Iterable[list[int]]) -> Iterator[int]:
    for ids in sequences:
        yield from ids


def describe(folder: Path, fingerprint: str) -> None:
    """Write beside the Arrow file what `datasets.load_from_disk` wants to know of it."""
    from datasets import DatasetInfo, Features

    DatasetInfo(features=Features.from_arrow_schema(ENCODED)).write_to_directory(str(folder))
    state: dict[str, Any] = {
        "_data_files": [{"filename": ARROW_FILE}],
        "_fingerprint": fingerprint,
        "_format_columns": None,
        "_format_kwargs": {},
        "_format_type": None,
        "_output_all_columns": False,
        "_split": None,
    }
    write_whole(folder / "state.json", json.dumps(state, indent=1))
