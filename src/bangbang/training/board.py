"""What TensorBoard shows of a run. Its own `SummaryWriter` opens files by name, that is, through links."""

import os
import socket
import time
from pathlib import Path
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.summary.writer.record_writer import RecordWriter
from torch.utils.tensorboard import summary

from bangbang.files import make_folder, new_file


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
