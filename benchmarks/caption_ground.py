"""Sound files of captions and image features for `benchmarks.fuzz`, and what reads them."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bangbang.corpora.pairs import Ledger
from bangbang.corpora.settings import CorpusSettings, Files
from bangbang.data import Corpus, prepare
from bangbang.data.preparation import open_reader
from bangbang.data.reading import usable
from bangbang.data.settings import Words
from benchmarks.mutations import Mutation, absurd_array, absurd_json, damaged

IMAGES = [f"folder/{number}.jpg" for number in range(12)]
Target = tuple[Path, tuple[Mutation, ...], Callable[[], object]]


class CaptionGround:
    """Captions in three formats, a table of features, and a corpus made of them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.features, self.cache = folder, folder / "features", folder / "cache"
        self.features.mkdir(parents=True)
        np.save(self.features / "features.npy", np.ones((len(IMAGES), 3), np.float16), allow_pickle=False)
        (self.features / "names.txt").write_text("".join(f"{name}\n" for name in IMAGES))
        (self.features / "encoder.json").write_text('{"encoder": "untrained"}\n')
        texts = {name: [f"a dog on picture {number}", "A dog."] for number, name in enumerate(IMAGES)}
        splits = ["val" if number == 0 else "train" for number in range(len(IMAGES))]
        entries = [
            {"filename": name, "split": split, "sentences": [{"raw": text} for text in texts[name]]}
            for name, split in zip(IMAGES, splits, strict=True)
        ]
        self.listed = self.write("listed/captions.json", json.dumps({"images": entries}))
        images = [{"id": number, "file_name": name} for number, name in enumerate(IMAGES)]
        annotations = [{"image_id": n, "caption": text} for n, name in enumerate(IMAGES) for text in texts[name]]
        self.coco = self.write(
            "coco/captions_train2014.json", json.dumps({"images": images, "annotations": annotations})
        )
        lines = [f"{name}#{place}\t{text}\n" for name in IMAGES for place, text in enumerate(texts[name])]
        self.tokens = self.write("tokens/a.token.txt", "".join(lines))
        self.lists = self.write("tokens/a.trainImages.txt", "".join(f"{name}\n" for name in IMAGES[1:]))
        self.write("tokens/a.devImages.txt", f"{IMAGES[0]}\n")
        self.corpus = prepare(self.options(self.listed, folder / "kept"), Words(), progress=False).folder

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    def targets(self) -> dict[str, Target]:
        """Name → the file that is mutated, how, and what reads it."""
        arrow = next((self.corpus / "train").glob("*.arrow"))
        return {
            "captions": (self.listed, (damaged, absurd_json), lambda: self.read_captions(self.listed)),
            "coco": (self.coco, (damaged, absurd_json), lambda: self.read_captions(self.coco.parent)),
            "tokens": (self.tokens, (damaged,), lambda: self.read_captions(self.tokens)),
            "lists": (self.lists, (damaged,), lambda: self.read_captions(self.tokens)),
            "features": (self.features / "features.npy", (damaged, absurd_array), self.read_features),
            "names": (self.features / "names.txt", (damaged,), self.read_features),
            "encoder": (self.features / "encoder.json", (damaged, absurd_json), self.read_features),
            "images": (arrow, (damaged,), self.read_corpus),
        }

    def options(self, corpus: Path, cache: Path) -> CorpusSettings:
        return Files(
            corpus=str(corpus), features=str(self.features), cache=str(cache), held_out=1, valid_share=0.2, test_share=0
        )

    def read_captions(self, captions: Path) -> None:
        read_pairs(self.options(captions, self.cache))

    def read_features(self) -> None:
        """By a new corpus, which may do with less images, and by one that was made before."""
        try:
            read(prepare(self.options(self.listed, self.cache), Words(), progress=False))
        finally:
            shutil.rmtree(self.cache, ignore_errors=True)
        self.read_corpus()

    def read_corpus(self) -> None:
        read(Corpus.open(self.corpus))


def read_pairs(data: CorpusSettings) -> None:
    ledger = Ledger()
    for section in open_reader(data).splits.values():
        for pair in section(ledger):
            usable(pair, ledger)


def read(corpus: Corpus) -> None:
    for name in corpus.manifest["splits"]:
        split = corpus.split(name)
        split.references(slice(None))
        split.features(slice(None))
        split.batch(np.arange(split.examples), all_references=True)
