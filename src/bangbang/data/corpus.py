"""A prepared corpus: a folder with `corpus.json`, `vocabulary.json` and one memory-mapped Arrow folder per split."""

import json
from functools import cached_property
from pathlib import Path
from typing import Any

from bangbang.data.split import Split
from bangbang.data.vocabulary import Vocabulary
from bangbang.errors import InputError
from bangbang.features import FeatureTable

MANIFEST = "corpus.json"
VOCABULARY = "vocabulary.json"
SPLITS = ("train", "valid", "test")
FORMAT = 2  # raised when the files or the rules that make them change: older folders are then made anew


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
        try:
            manifest = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            raise InputError(
                f"{folder}: not a prepared corpus, it has no {MANIFEST}; make one: bangbang data"
            ) from None
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: damaged ({error}); remove the folder and prepare the corpus again") from None
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            raise InputError(f"{path}: not of format {FORMAT}; remove the folder and prepare the corpus again")
        return cls(folder, manifest)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary.load(self.folder / VOCABULARY)

    @cached_property
    def features(self) -> FeatureTable | None:
        """The images' features, if the sources are images."""
        facts = self.manifest.get("features")  # corpora of text may have been made before there were images
        if facts is None:
            return None
        table = FeatureTable.open(Path(facts["folder"]))
        if table.size != facts["size"]:
            raise InputError(
                f"{table.path}: {table.size} features an image, but {self.folder} was made with {facts['size']}; "
                f"remove {self.folder} to make it anew"
            )
        return table

    def split(self, name: str, all_references: bool = False) -> Split:
        """One of the splits that `manifest["splits"]` names; `all_references` is for its batches."""
        counts = self.manifest["splits"]
        if name not in counts:
            raise InputError(f"{self.folder}: no split {name!r}; this corpus has {', '.join(counts)}")
        try:
            split = Split.open(self.folder / name, self.features, all_references)
        except (OSError, ValueError, KeyError) as error:
            raise InputError(f"{self.folder / name}: damaged ({error}); remove {self.folder} to make it anew") from None
        if len(split) != counts[name]["rows"]:
            raise InputError(
                f"{self.folder / name}: {len(split)} rows instead of {counts[name]['rows']}; "
                f"remove {self.folder} to make it anew"
            )
        return split
