"""The first stage of making a corpus: all usable pairs in raw files, one per split, and what is to be told of it.

The split that a pair belongs to is a function of its family alone, so that no family is ever on two sides.
"""

import json
from array import array
from pathlib import Path
from typing import Any

import numpy as np

from bangbang.corpora.pairs import Ledger, Pair, Reader, stable_hash
from bangbang.corpora.settings import CorpusSettings
from bangbang.data.corpus import SPLITS
from bangbang.data.raw import RawFile
from bangbang.errors import InputError
from bangbang.files import read_json, write_whole
from bangbang.progress import ProgressBars


class Sides:
    """Carves the splits that a corpus lacks out of its `train` part."""

    def __init__(self, data: CorpusSettings, given: list[str]) -> None:
        if data.valid_share + data.test_share >= 1:
            raise InputError("data.valid_share and data.test_share together leave nothing for training")
        self._bounds: list[tuple[float, str]] = []
        bound = 0.0
        for name, share in (("test", data.test_share), ("valid", data.valid_share)):
            if name not in given and share > 0:
                bound += share
                self._bounds.append((bound, name))
        self.carved = [name for _, name in reversed(self._bounds)]
        self._families = array("Q")

    def of(self, family: str) -> str:
        """The split of a `train` pair of this family."""
        if not self._bounds:
            return "train"
        hashed = stable_hash(family)
        self._families.append(hashed)
        place = hashed / 2**64
        return next((name for bound, name in self._bounds if place < bound), "train")

    def families(self) -> dict[str, int]:
        """How many families there were, and the pairs of the largest."""
        if not self._families:
            return {}
        _, counts = np.unique(np.frombuffer(self._families, dtype=np.uint64), return_counts=True)
        return {"count": len(counts), "largest": int(counts.max())}


READING = "reading.json"


def read(reader: Reader, data: CorpusSettings, folder: Path, shown: ProgressBars) -> dict[str, Any]:
    """Read a corpus into `folder`, unless an earlier call has; returns counts, drops and overlaps."""
    if not (folder / READING).exists():
        ledger, sides, raw = Ledger(), Sides(data, list(reader.splits)), Collection(folder)
        for name, section in reader.splits.items():
            with shown.task(f"reading {reader.name} {name}") as ledger.progress:
                for pair in section(ledger):
                    if kept := usable(pair, ledger):
                        raw.add(sides.of(kept.family) if name == "train" else name, kept)
        raw.close(reader, getattr(data, "path", "") or data.corpus, sides.carved, ledger)
        facts = {
            "rows": {name: file.rows for name, file in raw.files.items()},
            "carved": sides.carved,
            "families": sides.families(),
            "sources_also_in_train": raw.overlaps(),
            "drops": dict(ledger.drops.most_common()),
        }
        write_whole(folder / READING, json.dumps(facts))
    return read_json(folder / READING)


def raw_path(folder: Path, split: str) -> Path:
    return folder / f"{split}.raw"


def usable(pair: Pair, ledger: Ledger) -> Pair | None:
    """The pair without blank references and outer blanks, or None, counted, if nothing can be learned from it."""
    source = pair.source.strip()
    targets = tuple(target for target in map(str.strip, pair.targets) if target)
    if not source or not targets:
        ledger.drop("empty target" if source else "empty source")
        return None
    whole = source.join(targets) + source
    if "\0" in whole:
        ledger.drop("NUL character")
        return None
    try:
        whole.encode("utf-8")
    except UnicodeEncodeError:
        ledger.drop("half a surrogate pair")
        return None
    return Pair(source, targets, pair.family)


class Collection:
    """The raw files of the splits while they are read, and hashes of their sources."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.files: dict[str, RawFile] = {}
        self._hashes: dict[str, array[int]] = {}

    def add(self, split: str, pair: Pair) -> None:
        if split not in self.files:
            self.files[split] = RawFile(raw_path(self._folder, split))
            self._hashes[split] = array("Q")
        self.files[split].add(pair.source, pair.targets)
        self._hashes[split].append(stable_hash(pair.source))

    def close(self, reader: Reader, place: str, carved: list[str], ledger: Ledger) -> None:
        """Finish the files and put them in order; a split that should be there and has no pair is an error.

        `place` is what was read, as people named it.
        """
        for file in self.files.values():
            file.close()
        rows = sum(file.rows for name, file in self.files.items() if name in ("train", *carved))
        dropped = "".join(f"; dropped {count} for: {reason}" for reason, count in ledger.drops.most_common(3))
        for name in SPLITS:
            if name not in self.files and name in reader.splits:
                raise InputError(f"{place}: no usable pair in {name}{dropped or ', as nothing is in it'}")
            if name not in self.files and name in carved:
                raise InputError(
                    f"{place}: {rows} pairs are too few to carve a {name} split from; raise data.{name}_share, "
                    f"or give the corpus a {name} file"
                )
        self.files = {name: self.files[name] for name in SPLITS if name in self.files}

    def overlaps(self) -> dict[str, int]:
        """For each held-out split: the rows whose very source is in `train` too."""
        train = np.unique(np.frombuffer(self._hashes["train"], dtype=np.uint64))
        return {
            name: int(np.isin(np.frombuffer(self._hashes[name], dtype=np.uint64), train).sum())
            for name in self.files
            if name != "train"
        }
