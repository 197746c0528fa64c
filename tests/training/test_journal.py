"""metrics.jsonl of a run that goes on: what is damaged, or from after its checkpoint, is dropped."""

from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from bangbang.training.journal import Journal, ShownExample


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


def test_tensorboard_shows_every_number_and_drops_what_is_of_later(tmp_path: Path) -> None:
    for begins in (0, 2):  # the second sitting goes on from step 2
        journal = Journal(tmp_path, begins)
        (tmp_path / "samples").mkdir(exist_ok=True)
        for step in range(begins + 1, begins + 5):
            journal.record("train", step, {"loss": step + begins / 10})
        journal.samples(step, [ShownExample("a source", ["its reference"], "the output")])
        journal.close()
    assert len(list((tmp_path / "tensorboard").iterdir())) == 2
    shown = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    losses = [(event.step, round(event.value, 3)) for event in shown.Scalars("train/loss")]
    assert losses == [(1, 1), (2, 2), (3, 3.2), (4, 4.2), (5, 5.2), (6, 6.2)]
    texts = [event.tensor_proto.string_val[0].decode() for event in shown.Tensors("samples/text_summary")]
    assert "    output     the output" in texts[-1]
