"""A run is a folder: config.toml, vocabulary.json, corpus.json, checkpoints/, metrics.jsonl, tensorboard/, samples/.

Some models need a folder model/ more.
"""

import dataclasses
import json
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from bangbang import config as configs
from bangbang.config import Config
from bangbang.consent import CACHE, Consent
from bangbang.contracts import InputSizes, Task, Vocabulary
from bangbang.corpora.settings import CorpusSettings
from bangbang.data import Corpus, load_vocabulary, prepare
from bangbang.data.corpus import caveat, wrong_features
from bangbang.data.given import GivenVocabulary
from bangbang.data.spelling import SPELLING, Spelling, read_spelling
from bangbang.errors import InputError
from bangbang.files import make_folder, read_json, write_whole
from bangbang.folders import refuse_links
from bangbang.models import Generator
from bangbang.nearness import near_run
from bangbang.symbols import UNK
from bangbang.tasks import task_of
from bangbang.training import checkpoint, retention
from bangbang.training.checkpoint import CheckpointState

DIGITS = 15  # of the longest step's name
FOLDERS = ("checkpoints", "samples", "tensorboard", "model")


class Run:
    """A run's folder, config and vocabularies; `source_vocabulary` is None where sources have no own one."""

    def __init__(
        self,
        folder: Path,
        config: Config,
        vocabulary: Vocabulary,
        source_vocabulary: Vocabulary | None = None,
        facts: dict[str, Any] | None = None,
        cache: Path | None = None,
    ) -> None:
        self.folder, self.config, self._facts, self.cache = folder, config, facts, cache
        self.vocabulary, self.source_vocabulary = vocabulary, source_vocabulary

    @classmethod
    def elsewhere(cls, folder: Path, config: Config, corpus: Corpus) -> "Run":
        """A run whose folder another process keeps, perhaps on another machine."""
        return cls(folder, config, corpus.vocabulary, corpus.source_vocabulary, corpus.manifest)

    @classmethod
    def create(cls, folder: Path, config: Config, corpus: Corpus) -> "Run":
        """A new run folder; what defines the run is written before the first step."""
        refuse_links(folder, *FOLDERS, "metrics.jsonl")
        try:
            make_folder(folder / "samples")
            write_whole(folder / "config.toml", configs.dumps(config))
            write_whole(folder / "corpus.json", json.dumps({**corpus.manifest, "folder": str(corpus.folder)}, indent=1))
            corpus.vocabulary.save(folder / "vocabulary.json")
            if corpus.source_vocabulary is not None:
                corpus.source_vocabulary.save(folder / "source_vocabulary.json")
            if (spelling := corpus.learn_spelling()) is not None:
                spelling.save(folder / SPELLING)
        except OSError as error:
            raise InputError(f"{folder}: cannot write the run ({error.strerror})") from None
        return cls(folder, config, corpus.vocabulary, corpus.source_vocabulary)

    @classmethod
    def open(cls, folder: Path | str, cache: Path | None = None) -> "Run":
        """A run to read. If its corpus is gone, it may be made again in `cache`."""
        folder = Path(folder)
        if not (folder / "config.toml").is_file():
            raise InputError(f"{folder}: not a run{no_run(folder)}")
        config = configs.read(folder / "config.toml", old=True)
        if not (folder / "vocabulary.json").exists() and not retention.listed(folder / "checkpoints"):
            raise untrained(folder)
        vocabulary = load_vocabulary(folder / "vocabulary.json")
        own = config.source_vocabulary is not None
        sources = load_vocabulary(folder / "source_vocabulary.json") if own else None
        return cls(folder, config, vocabulary, sources, cache=cache)

    @property
    def checkpoints(self) -> Path:
        return self.folder / "checkpoints"

    @property
    def model_folder(self) -> Path:
        """What some models need beside checkpoints."""
        return self.folder / "model"

    @property
    def corpus_facts(self) -> dict[str, Any]:
        """What the run was trained on: the corpus's manifest, and the folder it was in."""
        return self._facts or read_json(self.folder / "corpus.json")

    @property
    def origin(self) -> dict[str, Any]:
        """What a checkpoint of this run says it belongs to."""
        return {"config": configs.plain(self.config), **self.fingerprints}

    @property
    def fingerprints(self) -> dict[str, str]:
        """Of each vocabulary, by name: a checkpoint's ids mean words of these."""
        own = {"vocabulary": self.vocabulary, "source_vocabulary": self.source_vocabulary}
        return {name: vocabulary.fingerprint for name, vocabulary in own.items() if vocabulary is not None}

    @cached_property
    def task(self) -> Task:
        return task_of(self.config)

    @cached_property
    def spelling(self) -> Spelling | None:
        """How people write what the model writes; None where tokens are pieces of words, and for runs of old."""
        return read_spelling(self.folder / SPELLING, self.vocabulary)

    def written(self, text: str) -> str:
        """A decoded text as people write it, for display alone: scores are of the text itself."""
        return self.spelling.written(text) if self.spelling else text

    @property
    def source_texts(self) -> list[str] | None:
        """The tokens of the sources' own vocabulary, if they have one."""
        return None if self.source_vocabulary is None else self.source_vocabulary.texts()

    def encode_sources(self, texts: list[str]) -> list[list[int]]:
        """The token ids of source texts, read as the corpus was, cut to the model's input length."""
        vocabulary, data = self.source_vocabulary or self.vocabulary, self.config.data
        return [ids[: data.max_source_length] for ids in vocabulary.encode_batch(list(map(data.as_read, texts)))]

    def unknown_in(self, texts: list[str]) -> tuple[int, int]:
        """How many tokens of source texts the run does not know, and how many texts have such."""
        counts = [ids.count(UNK) for ids in self.encode_sources(texts)]
        return sum(counts), sum(count > 0 for count in counts)

    def corpus(self) -> Corpus:
        """The corpus the run was trained on: the prepared one where it still is, or prepared again.

        To read a run is no leave to write where its config says: it is made in `cache`, or else where the corpora of
        the working folder are by default.
        """
        folder = self.corpus_facts.get("folder")
        try:
            if isinstance(folder, str) and (Path(folder) / "corpus.json").is_file():
                return Corpus.open(Path(folder))
        except OSError as error:  # such as a name longer than a name can be
            raise InputError(f"{self.folder / 'corpus.json'}: damaged (folder: {error.strerror})") from None
        data = self.config.data.without_lost_places()
        consent = Consent(frozenset((CACHE,)))
        if self.cache:
            data = dataclasses.replace(data, cache=str(self.cache))
        else:
            homes = (Path.cwd(),) if data.cache == CorpusSettings.cache else ()
            way_out = f"the corpus of {self.folder} is not there any more; to make it again: --cache FOLDER"
            consent = Consent(frozenset(), homes, way_out)
        return prepare(data, self.config.vocabulary, self.config.source_vocabulary, consent=consent)

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

    def build_model(self) -> Generator[Any]:
        size = sum(weight.numel() * weight.element_size() for weight in self.outline().parameters())
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if size > memory:
            raise InputError(f"model: its weights take {size / 2**30:.0f} GB, this machine has {memory / 2**30:.0f} GB")
        return self.new_model()

    def new_model(self) -> Generator[Any]:
        images, config = self.image_features, self.config
        if (images is not None) != (config.model.reads == "features"):
            given = "texts" if images is None else "images"
            raise InputError(
                f"model.kind = {config.model.kind!r} reads {config.model.reads}, but the sources of "
                f"{config.data.corpus} are {given}; set another model.kind"
            )
        sources = None if self.source_vocabulary is None else len(self.source_vocabulary)
        sizes = InputSizes(len(self.vocabulary), sources, images["size"] if images else None)
        if retention.listed(self.checkpoints):
            sizes = sizes._replace(kept=self.model_folder)
        if isinstance(self.vocabulary, GivenVocabulary):
            foreign = self.vocabulary
            sizes = sizes._replace(translation=foreign.translation, specials=tuple(foreign.specials))
        return config.model.build(sizes)

    def outline(self) -> Generator[Any]:
        """The model's names and shapes, without memory for its weights."""
        with torch.device("meta"):
            return self.new_model()

    def checkpoint(self, which: str = "best") -> Path:
        """The folder of a whole checkpoint: `best`, `last`, or a step number."""
        return self.choose(which)[0]

    def checkpoint_name(self, which: str = "best") -> str:
        """As people are told it."""
        return self.checkpoint(which).name

    def choose(self, which: str) -> tuple[Path, CheckpointState]:
        newest = retention.newest_whole(self.checkpoints)
        if newest is None:
            raise untrained(self.folder)
        progress = newest.state.progress
        named = {"last": progress.step, "best": progress.best_step if progress.has_best else progress.step}
        step = named.get(which, int(which) if which.isdecimal() and len(which) <= DIGITS else -1)
        if step == progress.step:
            return newest.checkpoint, newest.state
        steps = [retention.step_of(path) for path in retention.listed(self.checkpoints)]
        if step not in steps:
            there = ", ".join(map(str, steps))
            raise InputError(f"{self.folder}: no checkpoint {which[:40]!r}; there are best, last and steps {there}")
        chosen = self.checkpoints / checkpoint.name_of(step)
        return chosen, checkpoint.read_state(chosen)

    def check_vocabulary(self, found: Path, origin: Mapping[str, Any]) -> None:
        """An InputError if a checkpoint was made with another vocabulary; its ids would mean other words."""
        for name, fingerprint in self.fingerprints.items():
            if origin.get(name) != fingerprint:
                raise InputError(f"{found}: was made with another vocabulary than {self.folder / name}.json")

    def load_model(self, which: str = "best", device: torch.device | str = "cpu") -> Generator[Any]:
        found, state = self.choose(which)
        self.check_vocabulary(found, state.origin)
        checkpoint.check_model(found, self.outline())  # before there is memory for it
        model = self.build_model()
        checkpoint.load_model(found, model)
        return model.to(device).eval()


def untrained(folder: Path) -> InputError:
    if (folder / "runs").is_dir():  # both have a config.toml
        runs = sorted(config.parent for config in (folder / "runs").glob("*/config.toml"))
        named = f", such as {runs[0]}" if runs else ""
        return InputError(f"{folder}: not a run, but what `bangbang reproduce` makes; its runs are in runs/{named}")
    return InputError(f"{folder}: no checkpoint yet; train it with `bangbang train --resume --out {folder}`")


def no_run(folder: Path) -> str:
    """Why a path is no run, and the way out."""
    if folder.is_file() and folder.suffix == ".toml":
        return f", but a config; train it with `bangbang train {folder} --out RUN`"
    if folder.is_file():
        return ", but a file; a run is a folder, which `bangbang train CONFIG --out RUN` makes"
    if meant := near_run(folder):
        return f" (no config.toml){meant}"
    return f" (no config.toml); make one with `bangbang train CONFIG --out {folder}`"
