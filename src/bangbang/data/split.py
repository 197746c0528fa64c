"""One split of a prepared corpus, read from memory-mapped Arrow without making Python objects of its rows.

Shapes: B examples, S longest source, T longest target of a batch.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from torch import Tensor

from bangbang.data.mapping import MappedTable
from bangbang.data.ragged import Ragged
from bangbang.data.schema import ENCODED
from bangbang.errors import InputError
from bangbang.symbols import PAD, UNK

Ints = npt.NDArray[np.int64]
Rows = slice | Ints


class Batch(NamedTuple):
    """Token ids of a training batch, int64."""

    source: Tensor
    """[B, S] padded with PAD; an empty source is the single token UNK."""
    source_length: Tensor
    """[B]"""
    target: Tensor
    """[B, T] one reference each, ends in EOS, padded with PAD."""
    target_length: Tensor
    """[B] EOS included."""


class Split:
    """Rows (a source and its references) and examples (a source and one reference: what is trained on).

    Examples are numbered row by row, reference by reference.
    """

    def __init__(
        self, table: Any, release: Callable[[], None] = lambda: None, vocabulary_size: int = np.iinfo(np.int32).max
    ) -> None:
        self._table, self._release, self._vocabulary_size = table, release, vocabulary_size
        self._sources = Ragged(table.column("source_ids").chunks)
        references = table.column("target_ids").chunks
        per_row = Ragged(references).lengths()
        self._targets = Ragged([chunk.values for chunk in references])
        self._row: npt.NDArray[np.int32] = np.repeat(np.arange(len(per_row), dtype=np.int32), per_row)
        self.examples = len(self._row)
        self.source_lengths: npt.NDArray[np.int32] = np.maximum(self._sources.lengths(), 1)[self._row]
        self.target_lengths: npt.NDArray[np.int32] = self._targets.lengths()
        release()

    @classmethod
    def open(cls, folder: Path, vocabulary_size: int) -> "Split":
        """The split in a folder; an id outside the vocabulary is an InputError when it is met."""
        paths = sorted(folder.glob("data-*.arrow"))
        if not paths or paths[-1].name != f"data-{len(paths) - 1:05d}-of-{len(paths):05d}.arrow":
            raise ValueError("files are missing")
        mapped = MappedTable(paths)
        if mapped.table.schema != ENCODED:
            raise ValueError("other columns than a split has")
        return cls(mapped.table, mapped.release, vocabulary_size)

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def batch(self, examples: npt.NDArray[np.integer[Any]]) -> Batch:
        """The training batch of these example numbers."""
        source, source_length = padded(self._sources.take(self._row[examples].astype(np.int64)))
        target, target_length = padded(self._targets.take(examples.astype(np.int64)))
        self._release()
        for ids in (source, target):
            if bool((ids < 0).any()) or bool((ids >= self._vocabulary_size).any()):
                raise InputError("the corpus is damaged: a token id is outside the vocabulary; prepare it again")
        return Batch(source, source_length, target, target_length)

    def sources(self, rows: Rows) -> list[str]:
        return self._column("source", rows)

    def references(self, rows: Rows) -> list[list[str]]:
        """The raw text of all references of each row."""
        return self._column("targets", rows)

    def source_ids(self, rows: Rows) -> list[list[int]]:
        return [list(ids) or [UNK] for ids in self._column("source_ids", rows)]

    def _column(self, name: str, rows: Rows) -> list[Any]:
        """These rows of a column as Python objects, once what they claim of their memory has been checked."""
        column = self._table.column(name)
        if isinstance(rows, slice):
            start, stop, step = rows.indices(len(self))
            if step == 1:
                return self._objects(column.slice(start, max(0, stop - start)))
            rows = np.arange(start, stop, step)
        return [self._objects(column.slice(int(row), 1))[0] for row in rows]

    def _objects(self, part: Any) -> list[Any]:
        try:
            part.validate(full=True)
            return list(part.to_pylist())
        except (pa.ArrowException, ValueError, OSError) as error:
            raise InputError(f"the corpus is damaged: {error}; prepare it again") from None
        finally:
            self._release()


def padded(sequences: list[npt.NDArray[np.int32]]) -> tuple[Tensor, Tensor]:
    """The sequences as one [B, longest] tensor and their lengths [B]; an empty one becomes the token UNK."""
    lengths = np.fromiter((max(1, len(ids)) for ids in sequences), dtype=np.int64, count=len(sequences))
    ids = np.full((len(sequences), int(lengths.max(initial=1))), PAD, dtype=np.int64)
    for row, sequence in zip(ids, sequences, strict=True):
        row[: max(1, len(sequence))] = sequence if len(sequence) else UNK
    return torch.from_numpy(ids), torch.from_numpy(lengths)
