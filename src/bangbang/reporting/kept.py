"""What a run wrote for its test split, kept in the run's folder: test.json, a record for each way of decoding.

It is of one checkpoint, corpus and metric. A file of another is made anew, and so is one that does not fit.

Shapes: N examples, S statistics.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bangbang.decoding.settings import DecodingSettings, describe
from bangbang.errors import InputError
from bangbang.files import read_json, write_whole
from bangbang.folders import refuse_links

FORMAT = 2  # of test.json; raised when its meaning changes
KEPT = "test.json"
KEPT_BYTES = 2**30


def key_of(way: DecodingSettings) -> str:
    """All that a way's outputs depend on; batches change nothing."""
    return describe(way) + (" +unknown" if way.unknown else "")


@dataclass
class Written:
    """What a run wrote in one way of decoding, and what is known of it."""

    outputs: list[str]
    cut: list[bool]
    """Whether each output was cut at the length limit."""
    statistics: list[list[float]]
    """Of each output, by the report's metric.  [N, S]"""
    validation: float | None = None
    """The main score of validation examples, decoded in this way; None where nobody asked."""
    likelihoods: dict[str, list[float]] = field(default_factory=dict)
    """By the weights of another model: log p of all outputs, and their tokens."""

    def check(self, count: int) -> None:
        """A ValueError if this is not of so many examples."""
        if not are_texts(self.outputs) or len(self.outputs) != count:
            raise ValueError("not one text for each example")
        if len(self.cut) != count or not all(isinstance(each, bool) for each in self.cut):
            raise ValueError("not one mark for each example")
        statistics = np.array(self.statistics, dtype=np.float64)
        if statistics.ndim != 2 or len(statistics) != count or not np.isfinite(statistics).all():
            raise ValueError("not one row of numbers for each example")
        pairs = [list(map(float, pair)) for pair in self.likelihoods.values()]
        numbers = [*(number for pair in pairs for number in pair), float(self.validation or 0)]
        if any(len(pair) != 2 for pair in pairs) or not all(map(math.isfinite, numbers)):
            raise ValueError("not the numbers that were kept")


@dataclass
class Kept:
    """The file, read or to be written."""

    folder: Path
    identity: Mapping[str, Any]
    sources: list[str] = field(default_factory=list)
    """Texts, or images' names; empty before anything is decoded."""
    references: list[list[str]] = field(default_factory=list)
    ways: dict[str, Written] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path, identity: Mapping[str, Any]) -> "Kept":
        """What an earlier call kept, if it is of this very checkpoint, corpus and metric; else nothing."""
        path = folder / KEPT
        try:
            record = read_json(path, KEPT_BYTES) if path.is_file() else {}
            if not record or any(record[name] != value for name, value in identity.items()):
                return cls(folder, identity)
            found = cls(folder, identity, record["sources"], record["references"])
            found.ways = {name: Written(**way) for name, way in record["ways"].items()}
            found.check()
        except (InputError, LookupError, TypeError, ValueError, AttributeError, OverflowError):
            return cls(folder, identity)  # damaged, or of another version
        return found

    def check(self) -> None:
        """A ValueError if the parts do not fit one another."""
        if not are_texts(self.sources) or len(self.references) != len(self.sources):
            raise ValueError("not one source for each example")
        if not all(map(are_texts, self.references)):
            raise ValueError("an example without a reference")
        for way in self.ways.values():
            way.check(len(self.sources))

    def save(self) -> None:
        refuse_links(self.folder, KEPT)
        ways = {name: asdict(way) for name, way in self.ways.items()}
        record = {**self.identity, "sources": self.sources, "references": self.references, "ways": ways}
        try:
            write_whole(self.folder / KEPT, json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")
        except OSError as error:
            raise InputError(f"{self.folder / KEPT}: cannot be written ({error.strerror})") from None


def are_texts(found: Any) -> bool:
    """Whether this is a list of texts, and not an empty one."""
    return isinstance(found, list) and bool(found) and all(isinstance(text, str) for text in found)
