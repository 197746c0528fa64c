"""metrics.jsonl of a run that goes on: what is damaged, or from after its checkpoint, is dropped."""

from pathlib import Path

import pytest

from bangbang.training.journal import Journal


@pytest.mark.parametrize(
    "line",
    [
        b'{"kind": "train", "step": 4}',
        b'{"kind": "tra',
        b'{"kind": "\xff", "step": 1}',
        b'{"step": Infinity}',
        b'{"step": NaN}',
        b'{"step": ' + b"9" * 5000 + b"}",
        b"[" * 100_000,
        b'{"kind": "train"}',
        b"1",
        b"",
    ],
    ids=lambda line: repr(line[:30]),
)
def test_a_line_that_is_damaged_or_of_later_is_dropped(tmp_path: Path, line: bytes) -> None:
    sound = b'{"kind": "train", "step": 3}\n'
    (tmp_path / "metrics.jsonl").write_bytes(sound + line + b"\n" + sound)
    journal = Journal(tmp_path, step=3)
    journal.record("train", 4, {"loss": 0.5})
    journal.close()
    kept = b'{"kind": "train", "step": 4, "loss": 0.5}\n'
    assert (tmp_path / "metrics.jsonl").read_bytes() == 2 * sound + kept
