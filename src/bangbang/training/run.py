"""A run is a folder: config.toml, vocabulary.json, corpus.json, checkpoints/, metrics.jsonl, tensorboard/, samples/."""

import json
from pathlib import Path
from typing import Any

from bangbang import config as configs
from bangbang.config import Config
from bangbang.data import Corpus, Vocabulary, prepare
from bangbang.errors import InputError
from bangbang.files import write_whole
from bangbang.models import AttentionGru, ShowAndTell
from bangbang.training import checkpoint


class Run:
    def __init__(self, folder: Path, config: Config, vocabulary: Vocabulary) -> None:
        self.folder, self.config, self.vocabulary = folder, config, vocabulary

    @classmethod
    def create(cls, folder: Path, config: Config, corpus: Corpus) -> "Run":
        """A new run folder; what defines the run is written before the first step."""
        try:
            (folder / "samples").mkdir(parents=True, exist_ok=True)
            write_whole(folder / "config.toml", configs.dumps(config))
            write_whole(folder / "corpus.json", json.dumps({**corpus.manifest, "folder": str(corpus.folder)}, indent=1))
            corpus.vocabulary.save(folder / "vocabulary.json")
        except OSError as error:
            raise InputError(f"{folder}: cannot write the run ({error.strerror})") from None
        return cls(folder, config, corpus.vocabulary)

    @classmethod
    def open(cls, folder: Path | str) -> "Run":
        folder = Path(folder)
        if not (folder / "config.toml").is_file():
            raise InputError(
                f"{folder}: not a run (no config.toml); make one with `bangbang train CONFIG --out {folder}`"
            )
        return cls(folder, configs.read(folder / "config.toml"), Vocabulary.load(folder / "vocabulary.json"))

    @property
    def checkpoints(self) -> Path:
        return self.folder / "checkpoints"

    @property
    def corpus_facts(self) -> dict[str, Any]:
        """What the run was trained on: the corpus's manifest, and the folder it was in."""
        path = self.folder / "corpus.json"
        try:
            facts: dict[str, Any] = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: damaged or missing ({error})") from None
        return facts

    def corpus(self) -> Corpus:
        """The corpus the run was trained on: the prepared one where it still is, or prepared again."""
        folder = Path(str(self.corpus_facts.get("folder", "")))
        if (folder / "corpus.json").is_file():
            return Corpus.open(folder)
        return prepare(self.config.data, self.config.vocabulary)

    @property
    def image_features(self) -> dict[str, Any] | None:
        """Of a run on images: the `folder`, `encoder` and `size` of their features."""
        facts: dict[str, Any] | None = self.corpus_facts.get("features")
        return facts

    def build_model(self) -> AttentionGru | ShowAndTell:
        images, config = self.image_features, self.config.model
        if (images is None) != (config.kind == "attention_gru"):
            reads, given = ("images", "texts") if images is None else ("texts", "images")
            other = "attention_gru" if images is None else "show_and_tell"
            raise InputError(
                f"model.kind = {config.kind!r} reads {reads}, but the sources of {self.config.data.corpus} are "
                f"{given}; set model.kind={other}"
            )
        if images is None:
            return AttentionGru(len(self.vocabulary), config)
        return ShowAndTell(len(self.vocabulary), int(images["size"]), config)

    def checkpoint(self, which: str = "best") -> Path:
        """A checkpoint's folder: `best`, `last`, or a step number."""
        whole = checkpoint.complete(self.checkpoints)
        if not whole:
            raise InputError(
                f"{self.folder}: no checkpoint yet; train it with `bangbang train --resume --out {self.folder}`"
            )
        if which == "last":
            return whole[-1]
        if which == "best":
            best = checkpoint.name_of(checkpoint.read_progress(whole[-1]).best_step)
            return next((path for path in whole if path.name == best), whole[-1])
        named = [path for path in whole if which.isdecimal() and path.name == checkpoint.name_of(int(which))]
        if not named:
            steps = ", ".join(path.name.removeprefix("step-").lstrip("0") or "0" for path in whole)
            raise InputError(f"{self.folder}: no checkpoint {which!r}; there are best, last and steps {steps}")
        return named[0]

    def load_model(self, which: str = "best") -> AttentionGru | ShowAndTell:
        model = self.build_model()
        checkpoint.load_model(self.checkpoint(which), model)
        return model.eval()
