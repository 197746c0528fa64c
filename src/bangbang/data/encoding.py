"""From raw pairs to text and token ids side by side, in Arrow files of 100,000 rows, each made whole or not at all.

Beside each file stands a note of what it holds while the corpus is being made: a file with a note is not made again.
"""

import dataclasses
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bangbang.contracts import Vocabulary
from bangbang.corpora.text_files import identity
from bangbang.data.raw import ENCODED, ROWS, record_batches
from bangbang.features import FeatureTable
from bangbang.files import make_folder, move, new_file, read_json, write_whole
from bangbang.symbols import EOS, UNK

BATCHES = 50  # per file


class Side(NamedTuple):
    """Counts over one side, source or target, of some rows."""

    sequences: int = 0
    tokens: int = 0
    unknown: int = 0
    cut: int = 0

    @classmethod
    def of(cls, whole: list[list[int]], kept: list[list[int]]) -> "Side":
        cut = sum(len(one) > len(other) for one, other in zip(whole, kept, strict=True))
        return cls(len(kept), sum(map(len, kept)), sum(ids.count(UNK) for ids in kept), cut)

    def plus(self, other: "Side") -> "Side":
        return Side(*(one + two for one, two in zip(self, other, strict=True)))

    def report(self) -> dict[str, float]:
        return {
            "mean_tokens": self.tokens / max(1, self.sequences),
            "unknown_share": self.unknown / max(1, self.tokens),
            "truncated_share": self.cut / max(1, self.sequences),
        }


class Note(NamedTuple):
    """What one file of a split holds."""

    rows: int
    digest: str
    source: Side
    target: Side

    def write(self, path: Path) -> None:
        write_whole(path, json.dumps(self._asdict()))

    @classmethod
    def read(cls, path: Path) -> "Note":
        table = read_json(path)
        return cls(table["rows"], table["digest"], Side(*table["source"]), Side(*table["target"]))


class CorpusEncoder:
    """Turns raw files into splits that `datasets` can load."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        source_vocabulary: Vocabulary,
        max_source_length: int,
        max_target_length: int,
        images: FeatureTable | None,
    ) -> None:
        self._vocabulary, self._source_vocabulary, self._images = vocabulary, source_vocabulary, images
        self._source_limit = max_source_length
        self._target_limit = max_target_length - 1  # room for EOS
        self._digest = hashlib.blake2b(digest_size=16)
        if images:
            self._digest.update(json.dumps(identity(images.path)).encode())

    @property
    def fingerprint(self) -> str:
        """A hash of all that was encoded so far."""
        return self._digest.hexdigest()

    def encode(self, raw: Path, rows: int, folder: Path) -> Iterator[int]:
        """Write a split's folder, yielding the rows done so far; `report` tells of it afterwards."""
        make_folder(folder)
        files = -(-rows // (BATCHES * ROWS))
        names = [f"data-{number:05d}-of-{files:05d}.arrow" for number in range(files)]
        self._notes: list[Note] = []
        batches = record_batches(raw)
        for name in names:
            group = islice(batches, BATCHES)
            note = folder / f"{name}.json"
            if note.exists():
                next(islice(group, BATCHES, None), None)  # passed over: an earlier call made this file
            else:
                self._file(group, folder / name).write(note)
            self._notes.append(Note.read(note))
            self._digest.update(self._notes[-1].digest.encode())
            yield sum(each.rows for each in self._notes)
        describe(folder, names, self.fingerprint)

    def report(self) -> dict[str, Any]:
        """Counts of the split; images have no tokens to count."""
        source, target = Side(), Side()
        for note in self._notes:
            source, target = source.plus(note.source), target.plus(note.target)
        sides = {"target": target} if self._images else {"source": source, "target": target}
        counts = {"rows": sum(note.rows for note in self._notes), "examples": target.sequences}
        return counts | {name: side.report() for name, side in sides.items()}

    def _file(self, batches: Iterable[Any], path: Path) -> Note:
        draft = path.with_suffix(".draft")
        note, digest = Note(0, "", Side(), Side()), hashlib.blake2b(digest_size=16)
        with new_file(draft) as file:
            with pa.ipc.new_stream(file, ENCODED) as writer:
                for batch in batches:
                    encoded, source, target = self._encode_batch(batch)
                    writer.write_batch(encoded)
                    for column in encoded.columns:
                        for buffer in column.buffers():
                            digest.update(b"" if buffer is None else buffer)
                    note = Note(note.rows + batch.num_rows, "", note.source.plus(source), note.target.plus(target))
            file.flush()
            os.fsync(file.fileno())
        move(draft, path)
        return note._replace(digest=digest.hexdigest())

    def _encode_batch(self, batch: Any) -> tuple[Any, Side, Side]:
        sources, targets = batch.column("source"), batch.column("targets")
        source_whole = self._source_ids(sources.to_pylist())
        target_whole = self._vocabulary.encode_batch(targets.flatten().to_pylist())
        source_ids = [ids[: self._source_limit] for ids in source_whole]
        target_ids = [ids[: self._target_limit] for ids in target_whole]
        counts = Side.of(source_whole, source_ids), Side.of(target_whole, target_ids)
        for ids in target_ids:
            ids.append(EOS)
        columns = [sources, targets, lists(source_ids), pa.ListArray.from_arrays(targets.offsets, lists(target_ids))]
        return pa.record_batch(columns, schema=ENCODED), *counts

    def _source_ids(self, sources: list[str]) -> list[list[int]]:
        """Token ids, or of an image its row in the table of features as it is now.

        Such rows tell corpora apart in the fingerprint. Who reads the corpus looks images up by name.
        """
        if self._images:
            return [[row] for name in sources if (row := self._images.row(name)) is not None]
        return self._source_vocabulary.encode_batch(sources)


def lists(sequences: list[list[int]]) -> Any:
    """An Arrow list array of int32."""
    offsets: npt.NDArray[np.int32] = np.zeros(len(sequences) + 1, dtype=np.int32)
    np.cumsum([len(ids) for ids in sequences], out=offsets[1:])
    values = np.fromiter(flat(sequences), dtype=np.int32, count=int(offsets[-1]))
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values))


def flat(sequences: Iterable[list[int]]) -> Iterator[int]:
    for ids in sequences:
        yield from ids


def describe(folder: Path, files: list[str], fingerprint: str) -> None:
    """Write beside the Arrow files what `datasets.load_from_disk` wants to know of them."""
    from datasets import DatasetInfo, Features

    info = DatasetInfo(features=Features.from_arrow_schema(ENCODED))
    write_whole(folder / "dataset_info.json", json.dumps(dataclasses.asdict(info)))
    state: dict[str, Any] = {
        "_data_files": [{"filename": name} for name in files],
        "_fingerprint": fingerprint,
        "_format_columns": None,
        "_format_kwargs": {},
        "_format_type": None,
        "_output_all_columns": False,
        "_split": None,
    }
    write_whole(folder / "state.json", json.dumps(state, indent=1))
