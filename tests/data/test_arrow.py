"""Memory-mapped tables: what is read in passing is given back on the way, not only at the end."""

from pathlib import Path

import pyarrow as pa
import pytest

from bangbang.data import arrow
from bangbang.data.arrow import MappedTable
from bangbang.data.raw import ENCODED
from bangbang.data.split import Split

ROW = {"source": "a b", "targets": ["c"], "source_ids": [4, 5], "target_ids": [[6, 2]]}


def write(path: Path, chunks: int) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, ENCODED) as stream:
        for _ in range(chunks):
            stream.write_batch(pa.RecordBatch.from_pylist([ROW] * 3, ENCODED))


@pytest.fixture
def released(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    calls: list[int] = []
    give_back = MappedTable.release

    def counted(table: MappedTable) -> None:
        calls.append(1)
        give_back(table)

    monkeypatch.setattr(MappedTable, "release", counted)
    return calls


def test_opening_gives_pages_back_on_the_way(
    tmp_path: Path, released: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrow, "CHUNKS_BETWEEN_RELEASES", 2)
    write(tmp_path / "data-00000-of-00001.arrow", chunks=8)
    split = Split.open(tmp_path, None, False, 10)
    assert len(split) == 24 and split.target_lengths.tolist() == [2] * 24
    # once at the end of each of two stages; every second chunk of the table, of four columns, and of their lengths
    assert len(released) == 2 + 4 + 4 * 4 + 4 * 4


def test_a_table_without_rows(tmp_path: Path) -> None:
    write(tmp_path / "data-00000-of-00001.arrow", chunks=0)
    split = Split.open(tmp_path, None, False, 10)
    assert len(split) == 0 and split.examples == 0
