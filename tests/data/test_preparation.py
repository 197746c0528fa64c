"""Making a corpus through interruptions, with others waiting for it, and reading damaged ones."""

import json
import multiprocessing
import os
import signal
import time
from pathlib import Path

import pyarrow as pa
import pytest

from bangbang.corpora.settings import CorpusSettings, Files
from bangbang.data import Corpus, encoding, preparation, prepare
from bangbang.data.raw import ENCODED
from bangbang.data.settings import Words
from bangbang.data.split import Split
from bangbang.data.trained import TrainedVocabulary
from bangbang.errors import InputError


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CorpusSettings:
    """A corpus whose training split takes several files, since files are small here."""
    monkeypatch.setattr(encoding, "BATCHES", 1)
    file = tmp_path / "rows.jsonl"
    lines = (json.dumps({"source": f"source number {n}", "target": f"target {n % 7}"}) + "\n" for n in range(7_000))
    file.write_text("".join(lines))
    return Files(corpus=str(file), cache=str(tmp_path / "cache"))


def content(corpus: Corpus) -> dict[str, bytes]:
    """Every file of a corpus but those that name folders."""
    paths = [path for path in corpus.folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(corpus.folder)): path.read_bytes() for path in paths}


@pytest.mark.parametrize("stage", ["reading", "vocabulary", "the second file", "the manifest"])
def test_an_interrupted_preparation_goes_on(
    rows: CorpusSettings,
    stage: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    whole = prepare(Files(corpus=rows.corpus, cache=str(tmp_path / "other")), Words(), progress=False)
    calls = {"train": 0, "_file": 0}
    target, name, limit = {
        "reading": (preparation, "read", 0),
        "vocabulary": (TrainedVocabulary, "train", 0),
        "the second file": (encoding.CorpusEncoder, "_file", 1),
        "the manifest": (preparation, "publish", 0),
    }[stage]
    real = getattr(target, name)

    def interrupted(*arguments: object, **options: object) -> object:
        calls[name] = calls.get(name, 0) + 1
        if calls[name] > limit:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(target, name, interrupted)
        with pytest.raises(KeyboardInterrupt):
            prepare(rows, Words(), progress=False)
    files = []
    encode = encoding.CorpusEncoder._file
    monkeypatch.setattr(encoding.CorpusEncoder, "_file", lambda *given: files.append(given) or encode(*given))
    again = prepare(rows, Words())
    said = "which was interrupted" in capsys.readouterr().err
    assert said == (stage in ("vocabulary", "the second file"))
    expected = len(list(whole.folder.rglob("*.arrow")))
    assert len(files) == expected - {"the second file": 1, "the manifest": expected}.get(stage, 0)
    assert content(again) == content(whole)
    assert not list(Path(rows.cache).glob(".*"))


def make_slowly(config: CorpusSettings, pause: float) -> None:
    encode = encoding.CorpusEncoder._file

    def slow(*given: object) -> object:
        time.sleep(pause)
        return encode(*given)  # type: ignore[arg-type]

    encoding.CorpusEncoder._file = slow  # type: ignore[method-assign, assignment]
    prepare(config, Words(), progress=False)


def test_others_wait_and_a_killed_process_leaves_what_it_had(rows: CorpusSettings) -> None:
    context = multiprocessing.get_context("fork")
    first = context.Process(target=make_slowly, args=(rows, 0.4))
    first.start()
    while not list(Path(rows.cache).glob(".*/train/*.arrow.json")):
        time.sleep(0.01)
    others = [context.Process(target=make_slowly, args=(rows, 0.0)) for _ in range(2)]
    for other in others:
        other.start()
    time.sleep(0.2)
    assert first.pid is not None
    os.kill(first.pid, signal.SIGKILL)
    for process in (first, *others):
        process.join()
    assert [process.exitcode for process in (first, *others)] == [-signal.SIGKILL, 0, 0]
    assert len(list(Path(rows.cache).iterdir())) == 1
    assert len(prepare(rows, Words(), progress=False).split("train")) > 6_000


def table(source_ids: pa.Array) -> pa.Table:
    target_ids = pa.array([[[5]], [[6]]], ENCODED.field("target_ids").type)
    return pa.table([pa.array(["a", "b"]), pa.array([["x"], ["y"]]), source_ids, target_ids], ENCODED)


@pytest.mark.parametrize("offsets", [[0, 9, 3], [0, -4, 3], [1, 2, 3], [0, 1, 2], [0, 2, 999]])
def test_offsets_that_point_elsewhere_are_refused(offsets: list[int]) -> None:
    buffers = [None, pa.py_buffer(pa.array(offsets, pa.int32()).buffers()[1])]
    values = pa.array([7, 8, 9], pa.int32())
    with pytest.raises(ValueError, match="offsets"):
        Split(table(pa.ListArray.from_buffers(pa.list_(pa.int32()), 2, buffers, children=[values])))


@pytest.mark.parametrize("token", [-1, 50])
def test_ids_outside_the_vocabulary_are_refused(token: int) -> None:
    import numpy as np

    split = Split(table(pa.array([[4], [token]], ENCODED.field("source_ids").type)), vocabulary_size=50)
    split.batch(np.array([0]))
    with pytest.raises(InputError, match="outside the vocabulary"):
        split.batch(np.array([0, 1]))
