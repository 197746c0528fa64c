"""Making a corpus: read, filter, split, train the vocabulary on `train`, encode, keep."""

import dataclasses
import hashlib
import json
from array import array
from pathlib import Path
from typing import Any

import numpy as np

from bangbang.config import DataConfig, VocabularyConfig
from bangbang.data.corpus import FORMAT, MANIFEST, SPLITS, VOCABULARY, Corpus
from bangbang.data.encoding import Encoder, RawFile, texts
from bangbang.data.pairs import Ledger, Pair, Reader
from bangbang.data.progress import Progress
from bangbang.data.readers import open_reader
from bangbang.data.sides import Sides, number
from bangbang.data.vocabulary import Vocabulary, check_size
from bangbang.errors import InputError
from bangbang.features import FeatureTable
from bangbang.files import whole_folder, write_whole


def prepare(data: DataConfig, vocabulary: VocabularyConfig, progress: bool = True) -> Corpus:
    """The corpus that the options describe, made in `data.cache` unless it is there already.

    It is found again by what it was made from: the options and the content of the inputs.
    """
    check_size(vocabulary)
    reader = open_reader(data)
    made_from = {"format": FORMAT, "input": reader.identity, "options": options(data, vocabulary)}
    key = hashlib.blake2b(json.dumps(made_from, sort_keys=True).encode(), digest_size=6).hexdigest()
    folder = Path(data.cache) / f"{reader.name}-{key}"
    if not folder.exists():
        with whole_folder(folder) as temporary, Progress(progress) as shown:
            build(reader, data, vocabulary, temporary, shown)
    corpus = Corpus.open(folder)
    if reader.features and corpus.manifest["features"] != features_facts(reader.features):  # they were moved
        corpus.manifest["features"] = features_facts(reader.features)
        write_manifest(folder, corpus.manifest)
    return corpus


def options(data: DataConfig, vocabulary: VocabularyConfig) -> dict[str, Any]:
    """The options that change what is in the corpus."""
    table = dataclasses.asdict(data)
    # the reader's identity says by content what was read, and what was held out; all_references is about batches
    for name in ("corpus", "path", "cache", "features", "held_out", "all_references"):
        del table[name]
    return {"data": table, "vocabulary": dataclasses.asdict(vocabulary)}


def build(reader: Reader, data: DataConfig, config: VocabularyConfig, folder: Path, shown: Progress) -> None:
    ledger = Ledger()
    if reader.features:
        reader.features.check_finite()
    sides = Sides(data, list(reader.splits))
    raw = Collection(folder)
    for name, section in reader.splits.items():
        with shown.task(f"reading {reader.name} {name}") as ledger.progress:
            for pair in section(ledger):
                if kept := usable(pair, ledger):
                    raw.add(sides.of(kept.family) if name == "train" else name, kept)
    raw.close(reader, sides.carved, ledger)
    with shown.task("training the vocabulary"):
        vocabulary = Vocabulary.train(texts(raw.files["train"].path, sources=reader.features is None), config)
    vocabulary.save(folder / VOCABULARY)
    encoder = Encoder(vocabulary, data.max_source_length, data.max_target_length, reader.features)
    manifest = {
        "format": FORMAT,
        "corpus": data.corpus,
        "input": reader.identity,
        "options": options(data, config),
        "features": features_facts(reader.features) if reader.features else None,
        "vocabulary_size": len(vocabulary),
        "splits": encode(raw, encoder, folder, shown),
        "carved": sides.carved,
        "families": sides.families(),
        "sources_also_in_train": raw.overlaps(),
        "drops": dict(ledger.drops.most_common()),
        "fingerprint": encoder.fingerprint,
    }
    write_manifest(folder, manifest)


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    write_whole(folder / MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")


def features_facts(table: FeatureTable) -> dict[str, Any]:
    """What training must know of the images' features, which stay where they are."""
    return {"folder": str(table.folder.resolve()), "encoder": table.encoder, "size": table.size}


def encode(raw: "Collection", encoder: Encoder, folder: Path, shown: Progress) -> dict[str, Any]:
    reports = {}
    for name, file in raw.files.items():
        with shown.task(f"encoding {name}") as progress:
            for done in encoder.encode(file.path, folder / name):
                progress(done, file.rows)
        file.path.unlink()
        reports[name] = encoder.report()
    return reports


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
            self.files[split] = RawFile(self._folder / f"{split}.raw")
            self._hashes[split] = array("Q")
        self.files[split].add(pair.source, pair.targets)
        self._hashes[split].append(number(pair.source))

    def close(self, reader: Reader, carved: list[str], ledger: Ledger) -> None:
        """Finish the files and put them in order; a split that should be there and has no pair is an error."""
        for file in self.files.values():
            file.close()
        rows = sum(file.rows for name, file in self.files.items() if name in ("train", *carved))
        dropped = "".join(f"; dropped {count} for: {reason}" for reason, count in ledger.drops.most_common(3))
        for name in SPLITS:
            if name not in self.files and name in reader.splits:
                raise InputError(f"{reader.name}: no usable pair in {name}{dropped}")
            if name not in self.files and name in carved:
                raise InputError(
                    f"{reader.name}: {rows} pairs are too few to carve a {name} split from; raise data.{name}_share, "
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
