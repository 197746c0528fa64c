"""One split of a prepared corpus, read from memory-mapped Arrow without making Python objects of its rows.

Shapes: B examples, S longest source, T longest target of a batch, M references of an example, F image features.
"""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from torch import Tensor

from bangbang.contracts import Batch
from bangbang.data.arrow import MappedTable, Ragged
from bangbang.data.raw import ENCODED
from bangbang.errors import InputError
from bangbang.features import FeatureTable
from bangbang.symbols import PAD, UNK

Ints = npt.NDArray[np.int64]
Rows = slice | Ints


class Split:
    """Rows (a source and its references) and examples (a source and one reference: what is trained on).

    Examples are numbered row by row, reference by reference.
    """

    def __init__(
        self,
        table: Any,
        features: FeatureTable | None = None,
        vocabulary_size: int = np.iinfo(np.int32).max,
        source_vocabulary_size: int | None = None,
        release: Callable[[], None] = lambda: None,
        passed: Callable[[int], None] = lambda chunk: None,
    ) -> None:
        self._table, self._features = table, features
        self._vocabulary_size, self._release = vocabulary_size, release
        self._source_size = vocabulary_size if source_vocabulary_size is None else source_vocabulary_size
        if table.column("source").null_count:
            raise ValueError("a row without a source")
        if features is not None:
            self._images = self._look_up(features)
        self._sources = Ragged(table.column("source_ids").chunks, passed)
        references = table.column("target_ids").chunks
        per_row = Ragged(references, passed).lengths()
        self._targets = Ragged([chunk.values for chunk in references], passed)
        if not per_row.all():
            raise ValueError("a row without a reference")
        if not np.array_equal(Ragged(table.column("targets").chunks, passed).lengths(), per_row):
            raise ValueError("not as many texts as references")
        self._row: npt.NDArray[np.int32] = np.repeat(np.arange(len(per_row), dtype=np.int32), per_row)
        self.examples = len(self._row)
        self.source_lengths: npt.NDArray[np.int32] = np.maximum(self._sources.lengths(), 1)[self._row]
        self.target_lengths: npt.NDArray[np.int32] = self._targets.lengths()
        release()

    @classmethod
    def open(
        cls,
        folder: Path,
        features: FeatureTable | None,
        vocabulary_size: int,
        source_vocabulary_size: int | None = None,
    ) -> "Split":
        """The split in a folder; an id outside its side's vocabulary is an InputError when it is met. Sources share
        that of the targets unless they have one of their own."""
        paths = sorted(folder.glob("data-*.arrow"))
        if not paths or paths[-1].name != f"data-{len(paths) - 1:05d}-of-{len(paths):05d}.arrow":
            raise ValueError("files are missing")
        mapped = MappedTable(paths)
        if mapped.table.schema != ENCODED:
            raise ValueError("other columns than a split has")
        sizes = vocabulary_size, source_vocabulary_size
        return cls(mapped.table, features, *sizes, mapped.release, mapped.release_sometimes)

    def __len__(self) -> int:
        return int(self._table.num_rows)

    @cached_property
    def _first(self) -> Ints:
        """The number of each row's first example, then that of all examples. [rows + 1]"""
        return np.searchsorted(self._row, np.arange(len(self) + 1, dtype=self._row.dtype))

    def batch(self, examples: npt.NDArray[np.integer[Any]], all_references: bool = False) -> Batch:
        """The training batch of these example numbers, with all references of their sources or each its own."""
        rows = self._row[examples].astype(np.int64)
        source, source_length = self._inputs(rows)
        target, target_length = padded(self._targets.take(examples.astype(np.int64)))
        references = self._references(rows) if all_references else target.unsqueeze(1)
        self._release()
        checked = [(target, self._vocabulary_size), (references, self._vocabulary_size)]
        for ids, size in checked if self.has_images else [*checked, (source, self._source_size)]:
            if bool((ids < 0).any()) or bool((ids >= size).any()):
                raise InputError("the corpus is damaged: a token id is outside the vocabulary; prepare it again")
        return Batch(source, source_length, target, target_length, references)

    def _inputs(self, rows: Ints) -> tuple[Tensor, Tensor]:
        if self._features is None:
            return padded(self._sources.take(rows))
        return torch.from_numpy(self._features.take(self._images[rows])), torch.ones(len(rows), dtype=torch.long)

    def _look_up(self, features: FeatureTable) -> Ints:
        """Where in the table of features each row's image is, by name: a table that has grown is in another order."""

        def place(name: str) -> int:
            found = features.row(name)
            if found is None:
                raise InputError(
                    f"{features.folder}: {name!r}, an image of the corpus, is not in it, or several have that file "
                    "name; bring its features back, or prepare the corpus again"
                )
            return found

        names = (name for chunk in self._table.column("source").chunks for name in self._objects(chunk))
        return np.fromiter(map(place, names), np.int64, count=len(self))

    def _references(self, rows: Ints) -> Tensor:
        """All references of these rows, [B, M, T']."""
        most = int((self._first[rows + 1] - self._first[rows]).max())
        numbers = self._first[rows, None] + np.arange(most)  # [B, M] of examples, beyond a row's own for what is absent
        absent = numbers >= self._first[rows + 1, None]
        ids, _ = padded(self._targets.take(np.where(absent, self._first[rows, None], numbers).flatten()))
        references = ids.view(len(rows), most, -1)
        references[torch.from_numpy(absent)] = PAD
        return references

    @property
    def has_images(self) -> bool:
        """Whether the sources are images."""
        return self._features is not None

    def spread(self, count: int) -> Ints:
        """At most `count` rows, evenly spread over the split."""
        return np.unique(np.linspace(0, len(self) - 1, min(len(self), count)).astype(np.int64))

    def features(self, rows: Rows) -> Tensor:
        """The images' features [N, F] of these rows."""
        numbers = np.arange(len(self))[rows]
        return self._inputs(numbers)[0]

    def sources(self, rows: Rows) -> list[str]:
        """The raw text of each row's source, or the name of its image."""
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
