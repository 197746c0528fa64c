"""What a run writes down as it goes: metrics.jsonl, TensorBoard, samples."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bangbang.files import append_file, write_whole
from bangbang.training.board import Board


class Example(NamedTuple):
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

    def samples(self, step: int, examples: Sequence[Example]) -> None:
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
    lines = path.read_bytes().splitlines(keepends=True)
    write_whole(path, b"".join(line for line in lines if belongs(line, step)))


def belongs(line: bytes, step: int) -> bool:
    """Whether a line of metrics.jsonl is whole and not from after `step`; a stage that begins there is marked again."""
    try:
        record = json.loads(line.decode("utf-8"))
        return bool(int(record["step"]) <= step - (record["kind"] == "stage"))
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return False
