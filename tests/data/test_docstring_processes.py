"""Docstrings read by several processes: what one alone would find, in the same order."""

from pathlib import Path

import pytest

from bangbang.corpora import docstring_processes
from bangbang.corpora.docstring_processes import processes_for, read_side_by_side
from bangbang.errors import InputError

FILE = '''def open_door_{number}():
    """Opens the door with number {number} of this long and quiet corridor.

    The door stays open until somebody closes it again, or until the building is left for the night.
    """


def close_door_{number}():
    """Too short.

    The door stays closed until somebody opens it again, which may take until the next morning.
    """
'''


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    for number in range(7):
        (tmp_path / f"door_{number}.py").write_text(FILE.format(number=number), "utf-8")
    (tmp_path / "door_3.py").write_text("def broken(:\n    '''It does.\n\n    not parse'''", "utf-8")
    return sorted(tmp_path.glob("*.py"))


@pytest.mark.parametrize("processes", [2, 3])
def test_it_is_what_one_process_finds(paths: list[Path], processes: int) -> None:
    alone = list(read_side_by_side(paths, 1))
    assert [len(found) for found, _ in alone] == [1, 1, 1, 0, 1, 1, 1]
    assert alone[0][1]["summary too short or too long"] == 1 and alone[3][1]["file not parsable"] == 1
    assert list(read_side_by_side(paths, processes)) == alone


def test_who_stops_early_leaves_nobody_behind(paths: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    workers = []
    begin = docstring_processes.started
    monkeypatch.setattr(docstring_processes, "started", lambda given: workers.append(begin(given)) or workers[-1])
    reading = read_side_by_side(paths, 2)
    next(iter(reading))
    reading.close()  # type: ignore[attr-defined]
    assert len(workers) == 2 and all(worker.returncode is not None for worker in workers)


def test_a_process_that_dies_is_told(paths: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docstring_processes, "__name__", "bangbang.no_such_module")
    with pytest.raises(InputError, match=r"door_0\.py: the process that read it has ended"):
        list(read_side_by_side(paths, 2))


def test_few_files_are_read_here() -> None:
    assert processes_for(10) == processes_for(999) == 1
