"""A prepared corpus: a folder with `corpus.json`, `vocabulary.json` and one memory-mapped Arrow folder per split."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from bangbang.contracts import Vocabulary
from bangbang.data.spelling import Spelling, learn_spelling
from bangbang.data.split import Split
from bangbang.data.vocabulary import load_vocabulary
from bangbang.errors import InputError
from bangbang.features import FeatureTable
from bangbang.files import read_json

MANIFEST = "corpus.json"
VOCABULARY, SOURCE_VOCABULARY = "vocabulary.json", "source_vocabulary.json"
SPLITS = ("train", "valid", "test")
SPELLING_ROWS = 50_000
ENTRIES: dict[str, type] = {
    "fingerprint": str,
    "splits": dict,
    "vocabulary_size": int,
    "carved": list,
    "families": dict,
    "sources_also_in_train": dict,
    "drops": dict,
}
SYNTHETIC = "synthetic: drawn scenes and captions made by rule, not photographs"
SIDE_ENTRIES = ("mean_tokens", "unknown_share", "truncated_share")
FORMAT = 3  # raised when the files or the rules that make them change: older folders are then made anew


class Corpus:
    """An opened folder that `bangbang.data.prepare` has made."""

    def __init__(self, folder: Path, manifest: dict[str, Any]) -> None:
        self.folder = folder
        self.manifest = manifest
        """What the corpus was made from, its options, counts, and drops with their reasons."""
        self.fingerprint: str = manifest["fingerprint"]
        """A hash of the pairs, the vocabulary and the lengths they were cut to."""

    @classmethod
    def open(cls, folder: Path) -> "Corpus":
        folder = Path(folder)
        path = folder / MANIFEST
        if not path.exists():
            raise InputError(f"{folder}: not a prepared corpus, it has no {MANIFEST}; make one: bangbang data")
        manifest = read_json(path)
        if manifest.get("format") != FORMAT:
            raise InputError(f"{path}: not of format {FORMAT}; remove the folder and prepare the corpus again")
        if trouble := wrong_entry(manifest):
            raise InputError(f"{path}: damaged ({trouble}); remove the folder and prepare the corpus again")
        return cls(folder, manifest)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        return self._vocabulary(VOCABULARY, self.manifest["vocabulary_size"])

    @cached_property
    def source_vocabulary(self) -> Vocabulary | None:
        """That of the sources, if they have one of their own."""
        size = self.manifest.get("source_vocabulary_size")
        return None if size is None else self._vocabulary(SOURCE_VOCABULARY, size)

    def _vocabulary(self, name: str, size: int) -> Vocabulary:
        vocabulary = load_vocabulary(self.folder / name)
        if len(vocabulary) != size:
            trouble = f"{len(vocabulary)} tokens instead of {size}"
            raise InputError(f"{self.folder / name}: {trouble}; remove {self.folder} to make it anew")
        return vocabulary

    @cached_property
    def features(self) -> FeatureTable | None:
        """The images' features, if the sources are images."""
        facts = self.manifest.get("features")  # corpora of text may have been made before there were images
        if facts is None:
            return None
        table = FeatureTable.open(Path(facts["folder"]))
        if table.encoder and facts["encoder"] and table.encoder != facts["encoder"]:
            raise InputError(
                f"{table.folder}: features by {table.encoder}, but {self.folder} was made with those by "
                f"{facts['encoder']}; remove {self.folder} to make it anew"
            )
        if table.size != facts["size"]:
            raise InputError(
                f"{table.path}: {table.size} features an image, but {self.folder} was made with {facts['size']}; "
                f"remove {self.folder} to make it anew"
            )
        return table

    def learn_spelling(self) -> Spelling | None:
        """How the targets of `train` are written, or of as many as tell it, in equal steps."""
        split = self.split("train")
        every = -(-len(split) // SPELLING_ROWS)
        texts = (text for row in split.references(slice(None, None, every)) for text in row)
        return learn_spelling(self.vocabulary, texts)

    def split(self, name: str) -> Split:
        """One of the splits that `manifest["splits"]` names."""
        counts = self.manifest["splits"]
        if name not in counts:
            raise InputError(f"{self.folder}: no split {name!r}; this corpus has {', '.join(counts)}")
        try:
            sizes = len(self.vocabulary), len(self.source_vocabulary or self.vocabulary)
            split = Split.open(self.folder / name, self.features, *sizes)
        except InputError:  # of the features, which says what to do
            raise
        except (OSError, ValueError, KeyError, pa.ArrowException) as error:
            raise InputError(f"{self.folder / name}: damaged ({error}); remove {self.folder} to make it anew") from None
        if not len(split):
            raise InputError(f"{self.folder / name}: damaged (no rows); remove {self.folder} to make it anew")
        if len(split) != counts[name]["rows"]:
            raise InputError(
                f"{self.folder / name}: {len(split)} rows instead of {counts[name]['rows']}; "
                f"remove {self.folder} to make it anew"
            )
        return split


def caveat(manifest: Mapping[str, Any]) -> str:
    """What is to be said wherever results on a corpus are shown: that it is synthetic, if it is."""
    # one that was made before this was noted is known by its name
    return SYNTHETIC if manifest.get("synthetic", manifest.get("corpus") == "shapes") else ""


def wrong_entry(manifest: dict[str, Any]) -> str:
    """The name of an entry that is missing or of the wrong kind, or nothing."""
    for name, kind in ENTRIES.items():
        if not isinstance(manifest.get(name), kind):
            return name
    if not isinstance(manifest.get("source_vocabulary_size"), int | None):
        return "source_vocabulary_size"
    if manifest.get("features") is not None and wrong_features(manifest["features"]):
        return "features"
    for split, counts in manifest["splits"].items():
        if split not in SPLITS or not isinstance(counts, dict):
            return f"splits.{split}"
        names = ("target",) if manifest.get("features") else ("source", "target")  # images have no tokens
        sides = [counts.get(side) for side in names]
        numbers = [counts.get("rows"), counts.get("examples")]
        for side in sides:
            numbers += [side.get(name) for name in SIDE_ENTRIES] if isinstance(side, dict) else [None]
        if any(isinstance(number, bool) or not isinstance(number, int | float) for number in numbers):
            return f"splits.{split}"
    families = manifest["families"]
    if manifest["carved"] and not all(isinstance(families.get(name), int) for name in ("count", "largest")):
        return "families"
    counts = [*manifest["drops"].values(), *manifest["sources_also_in_train"].values()]
    return "" if all(isinstance(count, int) for count in counts) else "drops"


def wrong_features(facts: Any) -> bool:
    """Whether what a corpus says of its images' features is not of the right kind."""
    kinds = {"folder": str, "encoder": str, "size": int}
    if not isinstance(facts, dict) or not all(isinstance(facts.get(name), kind) for name, kind in kinds.items()):
        return True
    return "\0" in facts["folder"] or not 0 < facts["size"] <= 1_000_000
