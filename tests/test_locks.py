"""The folder lock: one holder at a time, named in the error, and gone with its process."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bangbang.errors import InputError
from bangbang.locks import locked

HOLD = """
import sys, time
from pathlib import Path
from bangbang.locks import locked
with locked(Path(sys.argv[1])) as hold:
    hold.sign("the other")
    print("held", flush=True)
    time.sleep(60)
"""


def test_another_process_is_named_and_its_death_lets_go(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None and other.stdout.readline() == "held\n"
        with pytest.raises(InputError, match=f"in use by process {other.pid} on "), locked(tmp_path):
            pass
        os.kill(other.pid, signal.SIGKILL)
        other.wait()
        with locked(tmp_path) as hold:
            assert hold.job == "the other"


def test_the_lock_is_let_go_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="of the block itself"), locked(tmp_path):
        raise OSError("of the block itself")
    with locked(tmp_path):
        pass


@pytest.mark.parametrize("content", ["", "[1]", "{", "[" * 4000])
def test_a_damaged_lock_file_is_no_trouble(tmp_path: Path, content: str) -> None:
    (tmp_path / ".lock").write_text(content)
    with locked(tmp_path) as hold:
        assert hold.job == ""


def test_a_linked_lock_file_is_refused(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    run = tmp_path / "run"
    run.mkdir()
    (run / ".lock").symlink_to(victim)
    with pytest.raises(InputError, match="is a symbolic link"), locked(run):
        pass
    assert victim.read_text() == "precious"


def test_a_folder_that_cannot_be_made_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"), locked(tmp_path / "file" / "run"):
        pass
