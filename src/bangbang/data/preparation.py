"""Making a corpus: read, filter, split, train the vocabulary on `train`, encode, keep.

It grows in a hidden folder beside its place. A process that is stopped or killed leaves that folder, and the next call
goes on from the last whole stage (reading, vocabulary) or file (encoding).
"""

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from bangbang.config import DataConfig, VocabularyConfig
from bangbang.consent import CACHE, FULL, Consent
from bangbang.data.corpus import FORMAT, MANIFEST, VOCABULARY, Corpus
from bangbang.data.encoding import Encoder
from bangbang.data.pairs import Reader
from bangbang.data.progress import Progress
from bangbang.data.raw import texts
from bangbang.data.readers import open_reader
from bangbang.data.reading import READING, raw_path, read
from bangbang.data.vocabulary import Vocabulary, check_size
from bangbang.errors import InputError
from bangbang.features import FeatureTable
from bangbang.files import publish, remove, write_whole
from bangbang.locks import LOCK, locked


def prepare(data: DataConfig, vocabulary: VocabularyConfig, progress: bool = True, consent: Consent = FULL) -> Corpus:
    """The corpus that the options describe, made in `data.cache` unless it is there already.

    It is found again by what it was made from: the options and the content of the inputs. Of several processes that
    ask for it at once, one makes it and the others wait. What `consent` does not allow is found, but not made.
    """
    check_size(vocabulary)
    if data.corpus == "shapes":
        from bangbang.data.shapes import draw_missing

        draw_missing(data, consent)
    reader = open_reader(data)
    made_from = {"format": FORMAT, "input": reader.identity, "options": options(data, vocabulary)}
    key = hashlib.blake2b(json.dumps(made_from, sort_keys=True).encode(), digest_size=6).hexdigest()
    folder = Path(data.cache) / f"{reader.name}-{key}"
    if not folder.exists():
        make(reader, data, vocabulary, consent.required(CACHE, data.cache) / folder.name, progress)
    corpus = Corpus.open(folder)
    corpus.manifest["synthetic"] = reader.synthetic  # not in those that were made before it was noted
    if reader.features and corpus.manifest["features"] != features_facts(reader.features):  # they were moved
        corpus.manifest["features"] = features_facts(reader.features)
        if place := consent.place(CACHE, data.cache):
            write_manifest(place / folder.name, corpus.manifest)
    return corpus


def make(reader: Reader, data: DataConfig, vocabulary: VocabularyConfig, folder: Path, progress: bool) -> None:
    growing = folder.with_name(f".{folder.name}.growing")
    with locked(growing, wait=True):
        if folder.exists():  # another process was first
            remove(growing)
            return
        begun = (growing / READING).exists()
        try:
            with Progress(progress) as shown:
                if begun:
                    shown.say(f"going on with {folder.name}, which was interrupted")
                build(reader, data, vocabulary, growing, shown)
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


def options(data: DataConfig, vocabulary: VocabularyConfig) -> dict[str, Any]:
    """The options that change what is in the corpus."""
    table = dataclasses.asdict(data)
    # the reader's identity says by content what was read, and what was held out; all_references is about batches
    for name in ("corpus", "path", "cache", "features", "held_out", "all_references"):
        del table[name]
    return {"data": table, "vocabulary": dataclasses.asdict(vocabulary)}


def build(reader: Reader, data: DataConfig, config: VocabularyConfig, folder: Path, shown: Progress) -> None:
    """All stages that `folder` does not have yet; the manifest is the last."""
    if (folder / MANIFEST).exists():
        return
    if reader.features:
        reader.features.check_finite()
    facts = read(reader, data, folder, shown)
    rows: dict[str, int] = facts.pop("rows")
    if not (folder / VOCABULARY).exists():
        with shown.task("training the vocabulary"):
            read_texts = texts(raw_path(folder, "train"), sources=reader.features is None)
            Vocabulary.train(read_texts, config).save(folder / VOCABULARY)
    vocabulary = Vocabulary.load(folder / VOCABULARY)
    encoder = Encoder(vocabulary, data.max_source_length, data.max_target_length, reader.features)
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
        "options": options(data, config),
        "features": features_facts(reader.features) if reader.features else None,
        "synthetic": reader.synthetic,
        "vocabulary_size": len(vocabulary),
        "splits": reports,
        **facts,
        "fingerprint": encoder.fingerprint,
    }
    write_manifest(folder, manifest)


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    write_whole(folder / MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")


def features_facts(table: FeatureTable) -> dict[str, Any]:
    """What training must know of the images' features, which stay where they are."""
    return {"folder": str(table.folder.resolve()), "encoder": table.encoder, "size": table.size}
