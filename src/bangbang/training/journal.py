"""What a run writes down as it goes: metrics.jsonl, TensorBoard, samples."""

import json
import os
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.summary.writer.record_writer import RecordWriter
from torch.utils.tensorboard import summary

from bangbang.errors import InputError
from bangbang.files import append_file, make_folder, new_file, write_whole
from bangbang.plain_files import read_plain

METRICS_BYTES = 2**30  # of metrics.jsonl: millions of lines


class Board:
    """A new file of events in `folder`, of a run that stands at `step`: TensorBoard drops what others have after it."""

    def __init__(self, folder: Path, step: int) -> None:
        make_folder(folder)
        began = f"{time.time_ns() / 1e9:.6f}"  # to the microsecond: each file has a name of its own
        self.records = RecordWriter(
            new_file(folder / f"events.out.tfevents.{began}.{socket.gethostname()}.{os.getpid()}")
        )
        self.add(file_version="brain.Event:2")
        self.add(step=step + 1, session_log=SessionLog(status=SessionLog.START))

    def add(self, **fields: Any) -> None:
        self.records.write(Event(wall_time=time.time(), **fields).SerializeToString())

    def scalar(self, name: str, value: float, step: int) -> None:
        self.add(step=step, summary=summary.scalar(name, value))  # type: ignore[no-untyped-call]

    def text(self, name: str, text: str, step: int) -> None:
        self.add(step=step, summary=summary.text(name, text))  # type: ignore[no-untyped-call]

    def flush(self) -> None:
        self.records.flush()

    def close(self) -> None:
        self.records.close()


class ShownExample(NamedTuple):
    source: str
    references: Sequence[str]
    output: str


class Journal:
    def __init__(self, folder: Path, step: int) -> None:
        """Open the journal of a run that stands at `step`; lines after it, from a sitting cut off, are dropped."""
        self.folder = folder
        path = folder / "metrics.jsonl"
        if path.exists():
            cut_back(path, step)
        self.lines = append_file(path)
        self.board = Board(folder / "tensorboard", step)

    def record(self, kind: str, step: int, values: dict[str, float]) -> None:
        self.lines.write(json.dumps({"kind": kind, "step": step, **values}) + "\n")
        self.lines.flush()
        for name, value in values.items():
            self.board.scalar(f"{kind}/{name}", value, step)
        self.board.flush()

    def begin_stage(self, step: int, number: int, label: str, seconds: float) -> None:
        """Mark that a stage begins after so many steps; numbers count from 1."""
        line = {"kind": "stage", "step": step, "stage": number, "label": label, "seconds": seconds}
        self.lines.write(json.dumps(line) + "\n")
        self.lines.flush()
        # at its first step: a run that goes on from where the stage begins drops this, and marks it again
        self.board.text("stage", f"{number}: {label}", step + 1)
        self.board.flush()

    def samples(self, step: int, examples: Sequence[ShownExample]) -> None:
        text = "\n".join(
            f"source     {example.source}\n"
            + "".join(f"reference  {reference}\n" for reference in example.references)
            + f"output     {example.output}\n"
            for example in examples
        )
        write_whole(self.folder / "samples" / f"step-{step:08d}.txt", text)
        self.board.text("samples", "\n".join("    " + line for line in text.split("\n")), step)

    def close(self) -> None:
        self.lines.close()
        self.board.close()


def cut_back(path: Path, step: int) -> None:
    """Leave in metrics.jsonl what is whole and not from after `step`."""
    try:
        lines = read_plain(path, METRICS_BYTES).splitlines(keepends=True)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); remove it") from None
    write_whole(path, b"".join(line for line in lines if belongs(line, step)))


def belongs(line: bytes, step: int) -> bool:
    """Whether a line of metrics.jsonl is whole and not from after `step`; a stage that begins there is marked again."""
    try:
        record = json.loads(line.decode("utf-8"))
        return bool(int(record["step"]) <= step - (record["kind"] == "stage"))
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return False
