"""A run is a folder: config.toml, vocabulary.json, corpus.json, checkpoints/, metrics.jsonl, tensorboard/, samples/."""

import dataclasses
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from bangbang import config as configs
from bangbang.config import Config
from bangbang.data import Corpus, Vocabulary, prepare
from bangbang.data.corpus import caveat, wrong_features
from bangbang.errors import InputError
from bangbang.files import read_json, refuse_links, write_whole
from bangbang.models import AttentionGru, ShowAndTell
from bangbang.training import checkpoint, shelf
from bangbang.training.checkpoint import State

FOLDERS = ("checkpoints", "samples", "tensorboard")


class Run:
    def __init__(
        self, folder: Path, config: Config, vocabulary: Vocabulary, facts: dict[str, Any] | None = None
    ) -> None:
        self.folder, self.config, self.vocabulary, self._facts = folder, config, vocabulary, facts

    @classmethod
    def elsewhere(cls, folder: Path, config: Config, corpus: Corpus) -> "Run":
        """A run whose folder another process keeps, perhaps on another machine."""
        return cls(folder, config, corpus.vocabulary, corpus.manifest)

    @classmethod
    def create(cls, folder: Path, config: Config, corpus: Corpus) -> "Run":
        """A new run folder; what defines the run is written before the first step."""
        refuse_links(folder, *FOLDERS, "metrics.jsonl")
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
        return self._facts or read_json(self.folder / "corpus.json")

    @property
    def origin(self) -> dict[str, Any]:
        """What a checkpoint of this run says it belongs to."""
        return {"config": dataclasses.asdict(self.config), "vocabulary": self.vocabulary.fingerprint}

    def corpus(self) -> Corpus:
        """The corpus the run was trained on: the prepared one where it still is, or prepared again."""
        folder = self.corpus_facts.get("folder")
        try:
            if isinstance(folder, str) and (Path(folder) / "corpus.json").is_file():
                return Corpus.open(Path(folder))
        except OSError as error:  # such as a name longer than a name can be
            raise InputError(f"{self.folder / 'corpus.json'}: damaged (folder: {error.strerror})") from None
        may_make = configs.may_make_corpus(self.config, self.folder / "config.toml", ())
        return prepare(self.config.data, self.config.vocabulary, may_make=may_make)

    @property
    def caveat(self) -> str:
        """What is to be said wherever the run's results are shown; nothing, for most corpora."""
        return caveat(self.corpus_facts)

    @property
    def image_features(self) -> dict[str, Any] | None:
        """Of a run on images: the `folder`, `encoder` and `size` of their features."""
        facts = self.corpus_facts.get("features")
        if facts is not None and wrong_features(facts):
            raise InputError(f"{self.folder / 'corpus.json'}: damaged (features)")
        return facts

    def build_model(self) -> AttentionGru | ShowAndTell:
        size = sum(weight.numel() * weight.element_size() for weight in self.outline().parameters())
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if size > memory:
            raise InputError(f"model: its weights take {size / 2**30:.0f} GB, this machine has {memory / 2**30:.0f} GB")
        return self.new_model()

    def new_model(self) -> AttentionGru | ShowAndTell:
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
        return ShowAndTell(len(self.vocabulary), images["size"], config)

    def outline(self) -> AttentionGru | ShowAndTell:
        """The model's names and shapes, without memory for its weights."""
        with torch.device("meta"):
            return self.new_model()

    def checkpoint(self, which: str = "best") -> Path:
        """The folder of a whole checkpoint: `best`, `last`, or a step number."""
        return self.choose(which)[0]

    def choose(self, which: str) -> tuple[Path, State]:
        newest = shelf.newest_whole(self.checkpoints)
        if newest is None:
            raise InputError(
                f"{self.folder}: no checkpoint yet; train it with `bangbang train --resume --out {self.folder}`"
            )
        progress = newest.state.progress
        named = {"last": progress.step, "best": progress.best_step if progress.has_best else progress.step}
        step = named.get(which, int(which) if which.isdecimal() else -1)
        if step == progress.step:
            return newest.checkpoint, newest.state
        steps = [shelf.step_of(path) for path in shelf.listed(self.checkpoints)]
        if step not in steps:
            there = ", ".join(map(str, steps))
            raise InputError(f"{self.folder}: no checkpoint {which!r}; there are best, last and steps {there}")
        chosen = self.checkpoints / checkpoint.name_of(step)
        return chosen, checkpoint.read_state(chosen)

    def check_vocabulary(self, found: Path, origin: Mapping[str, Any]) -> None:
        """An InputError if a checkpoint was made with another vocabulary; its ids would mean other words."""
        if origin.get("vocabulary") != self.vocabulary.fingerprint:
            raise InputError(f"{found}: was made with another vocabulary than {self.folder / 'vocabulary.json'}")

    def load_model(self, which: str = "best", device: torch.device | str = "cpu") -> AttentionGru | ShowAndTell:
        found, state = self.choose(which)
        self.check_vocabulary(found, state.origin)
        checkpoint.check_model(found, self.outline())  # before there is memory for it
        model = self.build_model()
        checkpoint.load_model(found, model)
        return model.to(device).eval()
