"""Making a corpus: read, filter, split, train the vocabulary on `train`, encode, keep.

It grows in a hidden folder beside its place. A process that is stopped or killed leaves that folder, and the next call
goes on from the last whole stage (reading, vocabulary) or file (encoding).
"""

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from bangbang.consent import CACHE, FULL, Consent
from bangbang.contracts import Vocabulary
from bangbang.corpora.pairs import Reader
from bangbang.corpora.settings import CorpusSettings
from bangbang.data.corpus import FORMAT, MANIFEST, SOURCE_VOCABULARY, VOCABULARY, Corpus
from bangbang.data.encoding import CorpusEncoder
from bangbang.data.raw import Side, texts
from bangbang.data.reading import READING, raw_path, read
from bangbang.data.settings import VocabularySettings
from bangbang.data.vocabulary import load_vocabulary
from bangbang.errors import InputError
from bangbang.features import FeatureTable
from bangbang.files import publish, remove, write_whole
from bangbang.locks import LOCK, locked
from bangbang.progress import ProgressBars


class Vocabularies(NamedTuple):
    """Settings of the vocabularies of a corpus."""

    target: VocabularySettings
    source: VocabularySettings | None
    """None where sources share that of the targets."""


def prepare(
    data: CorpusSettings,
    vocabulary: VocabularySettings,
    source_vocabulary: VocabularySettings | None = None,
    progress: bool = True,
    consent: Consent = FULL,
) -> Corpus:
    """The corpus that the options describe, made in `data.cache` unless it is there already.

    It is found again by what it was made from: the options and the content of the inputs. Of several processes that
    ask for it at once, one makes it and the others wait. What `consent` does not allow is found, but not made.
    """
    vocabularies = Vocabularies(vocabulary, source_vocabulary)
    for each in filter(None, vocabularies):
        each.check()
    data.make_missing(consent)
    reader = open_reader(data)
    if reader.features and source_vocabulary:
        raise InputError(f"source_vocabulary: the sources of {data.corpus} are images, not texts; leave it out")
    made_from = {"format": FORMAT, "input": reader.identity, "options": options(data, vocabularies)}
    key = hashlib.blake2b(json.dumps(made_from, sort_keys=True).encode(), digest_size=6).hexdigest()
    folder = Path(data.cache) / f"{reader.name}-{key}"
    if not folder.exists():
        make(reader, data, vocabularies, consent.required(CACHE, data.cache) / folder.name, progress)
    corpus = Corpus.open(folder)
    corpus.manifest["synthetic"] = reader.synthetic  # not in those that were made before it was noted
    if reader.features and corpus.manifest["features"] != features_facts(reader.features):  # they were moved
        corpus.manifest["features"] = features_facts(reader.features)
        if place := consent.place(CACHE, data.cache):
            write_manifest(place / folder.name, corpus.manifest)
    return corpus


def make(reader: Reader, data: CorpusSettings, vocabularies: Vocabularies, folder: Path, progress: bool) -> None:
    growing = folder.with_name(f".{folder.name}.growing")
    with locked(growing, wait=True):
        if folder.exists():  # another process was first
            remove(growing)
            return
        begun = (growing / READING).exists()
        try:
            with ProgressBars(progress) as shown:
                if begun:
                    shown.say(f"going on with {folder.name}, which was interrupted")
                build(reader, data, vocabularies, growing, shown)
            for path in (*growing.glob("*.raw"), *growing.glob("*/*.arrow.json"), growing / READING, growing / LOCK):
                remove(path)
            publish(growing, folder)
        except InputError:
            remove(growing)
            raise
        except (LookupError, TypeError, ValueError, pa.ArrowException) as error:
            if not begun:
                raise
            remove(growing)
            raise InputError(f"{growing}: was damaged ({error!r}) and is removed; call again") from None
        except OSError as error:
            raise InputError(f"{folder}: cannot be made ({error}); make room, then call again to go on") from None


def open_reader(data: CorpusSettings) -> Reader:
    """The reader of the corpus that [data] names."""
    try:
        return data.build()
    except OSError as error:  # a name too long, a folder that may not be listed
        raise InputError(f"data.corpus = {data.corpus!r}: {error.strerror or error}") from None


def options(data: CorpusSettings, vocabularies: Vocabularies) -> dict[str, Any]:
    """The settings that change what is in the corpus; the reader's identity tells by content what was read."""
    table: dict[str, Any] = {"data": data.options}
    for name, settings in zip(("vocabulary", "source_vocabulary"), vocabularies, strict=True):
        if settings is not None:
            table[name] = settings.identity
    return table


def build(reader: Reader, data: CorpusSettings, settings: Vocabularies, folder: Path, shown: ProgressBars) -> None:
    """All stages that `folder` does not have yet; the manifest is the last."""
    if (folder / MANIFEST).exists():
        return
    if reader.features:
        reader.features.check_finite()
    facts = read(reader, data, folder, shown)
    rows: dict[str, int] = facts.pop("rows")
    shared = settings.source is None and reader.features is None
    vocabulary = built(folder, VOCABULARY, settings.target, "both" if shared else "targets", shown)
    sources = vocabulary
    if settings.source is not None:
        sources = built(folder, SOURCE_VOCABULARY, settings.source, "sources", shown)
    encoder = CorpusEncoder(vocabulary, sources, data.max_source_length, data.max_target_length, reader.features)
    reports = {}
    for name, count in rows.items():
        with shown.task(f"encoding {name}") as progress:
            for done in encoder.encode(raw_path(folder, name), count, folder / name):
                progress(done, count)
        reports[name] = encoder.report()
    manifest = {
        "format": FORMAT,
        "corpus": data.corpus,
        "input": reader.identity,
        "options": options(data, settings),
        "features": features_facts(reader.features) if reader.features else None,
        "synthetic": reader.synthetic,
        "vocabulary_size": len(vocabulary),
        "source_vocabulary_size": None if settings.source is None else len(sources),
        "splits": reports,
        **facts,
        "fingerprint": encoder.fingerprint,
    }
    write_manifest(folder, manifest)


def built(folder: Path, name: str, settings: VocabularySettings, side: Side, shown: ProgressBars) -> Vocabulary:
    """The vocabulary of some of the training texts, made unless an earlier call has."""
    if not (folder / name).exists():
        with shown.task("making the vocabulary"):
            settings.build(texts(raw_path(folder, "train"), side)).save(folder / name)
    return load_vocabulary(folder / name)


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    write_whole(folder / MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")


def features_facts(table: FeatureTable) -> dict[str, Any]:
    """What training must know of the images' features, which stay where they are."""
    return {"folder": str(table.folder.resolve()), "encoder": table.encoder, "size": table.size}
