"""Prepared corpora: found again, whole or not there, and read back as they were written."""

import json
from collections.abc import Callable
from pathlib import Path

import datasets
import numpy as np
import pytest
import torch

from bangbang.corpora.settings import Files
from bangbang.data import Corpus, batches, prepare
from bangbang.data.settings import Words
from bangbang.data.split import Split
from bangbang.errors import InputError
from bangbang.symbols import EOS, PAD, UNK

Prepared = Callable[..., Corpus]


def test_texts_and_references_come_back(parallel: Path, prepared: Prepared) -> None:
    corpus = prepared(parallel)
    assert {name: counts["rows"] for name, counts in corpus.manifest["splits"].items()} == {
        "train": 100,
        "valid": 10,
        "test": 10,
    }
    test = corpus.split("test")
    assert (len(test), test.examples) == (10, 30)
    assert test.sources(slice(0, 10)) == (parallel / "test.src").read_text().splitlines()
    wanted = list(zip(*((parallel / f"test.tgt{n}").read_text().splitlines() for n in range(3)), strict=True))
    assert [tuple(row) for row in test.references(np.array([3, 1]))] == [wanted[3], wanted[1]]
    assert test.sources(slice(8, 2, -3)) == [test.sources(slice(0, 10))[row] for row in (8, 5)]


def test_batches_hold_what_the_vocabulary_encodes(parallel: Path, prepared: Prepared) -> None:
    corpus = prepared(parallel, max_source_length=6, max_target_length=5)
    for name in ("train", "test"):
        split = corpus.split(name)
        texts, references = split.sources(slice(None)), split.references(slice(None))
        pairs = [(text, one) for text, row in zip(texts, references, strict=True) for one in row]
        assert split.examples == len(pairs)
        for numbers in batches(split, 7, seed=3, epoch=1):
            batch = split.batch(numbers)
            assert {tensor.dtype for tensor in batch} == {torch.int64}
            assert batch.source.shape == (len(numbers), int(batch.source_length.max()))
            assert batch.target.shape == (len(numbers), int(batch.target_length.max()))
            for place, number in enumerate(numbers):
                source = corpus.vocabulary.encode(pairs[number][0])[:6]
                target = [*corpus.vocabulary.encode(pairs[number][1])[:4], EOS]
                assert strip(batch.source[place]) == source
                assert strip(batch.target[place]) == target
                assert int(batch.source_length[place]) == len(source) == split.source_lengths[number]
                assert int(batch.target_length[place]) == len(target) == split.target_lengths[number]
        assert split.source_ids(slice(0, 2)) == [corpus.vocabulary.encode(text)[:6] for text in texts[:2]]


def strip(ids: torch.Tensor) -> list[int]:
    return [index for index in ids.tolist() if index != PAD]


def test_an_empty_source_is_one_unknown() -> None:
    table = datasets.Dataset.from_dict(
        {
            "source": ["", "a"],
            "targets": [["x"], ["y"]],
            "source_ids": [[], [7, 8]],
            "target_ids": [[[5, EOS]], [[EOS]]],
        },
        features=datasets.Features(
            source=datasets.Value("string"),
            targets=datasets.List(datasets.Value("string")),
            source_ids=datasets.List(datasets.Value("int32")),
            target_ids=datasets.List(datasets.List(datasets.Value("int32"))),
        ),
    ).data
    split = Split(table)
    assert split.batch(np.array([0])).source.tolist() == [[UNK]]
    both = split.batch(np.array([1, 0]))
    assert both.source.tolist() == [[7, 8], [UNK, PAD]]
    assert both.source_length.tolist() == [2, 1] == split.source_lengths[[1, 0]].tolist()
    assert both.target.tolist() == [[EOS, PAD], [5, EOS]]
    assert split.source_ids(slice(0, 1)) == [[UNK]]


def test_many_record_batches_read_like_one(tmp_path: Path, prepared: Prepared) -> None:
    rows = [
        {"source": f"source {n} {'x ' * (n % 5)}", "target": [f"t {n}", f"u {n}"][: 1 + n % 2]} for n in range(4_500)
    ]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    corpus = prepared(file, valid_share=0.0, test_share=0.0)
    split = corpus.split("train")
    assert len(split._sources._offsets) > 2
    first = np.cumsum([0, *(len(row["target"]) for row in rows)])
    for row in (0, 1_999, 2_000, 3_333, 4_499):
        batch = split.batch(np.array([first[row], first[row + 1] - 1]))
        assert [corpus.vocabulary.decode(ids.tolist()) for ids in batch.target] == [
            rows[row]["target"][0],
            rows[row]["target"][-1],
        ]
        assert split.sources(np.array([row])) == [rows[row]["source"].strip()]


def test_datasets_can_load_a_split(parallel: Path, prepared: Prepared) -> None:
    corpus = prepared(parallel)
    loaded = datasets.load_from_disk(str(corpus.folder / "test"))
    assert loaded.column_names == ["source", "targets", "source_ids", "target_ids"]
    assert loaded.num_rows == 10


def test_the_vocabulary_is_of_train_alone_and_of_both_sides(parallel: Path, prepared: Prepared) -> None:
    vocabulary = prepared(parallel).vocabulary
    assert vocabulary.encode("number5") != [UNK]  # a source word
    assert vocabulary.encode("at") != [UNK]  # a target word
    assert vocabulary.encode("number105 number115 again") == [UNK, UNK, UNK]


def test_a_second_call_finds_the_folder_and_a_change_does_not(parallel: Path, prepared: Prepared) -> None:
    first = prepared(parallel)
    stamp = (first.folder / "corpus.json").stat().st_mtime_ns
    again = prepared(parallel)
    assert again.folder == first.folder
    assert (again.folder / "corpus.json").stat().st_mtime_ns == stamp
    folders = {first.folder}
    folders.add(prepared(parallel, max_source_length=9).folder)
    folders.add(prepared(parallel, Words(size=20)).folder)
    with (parallel / "valid.tgt").open("r+") as file:
        file.write("Z")
    folders.add(prepared(parallel).folder)
    assert len(folders) == 4


def test_the_fingerprint_is_of_the_content(parallel: Path, prepared: Prepared, tmp_path: Path) -> None:
    first = prepared(parallel)
    copy = tmp_path / "elsewhere"
    copy.mkdir()
    for file in parallel.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    assert prepared(copy).fingerprint == first.fingerprint
    assert prepared(copy).folder != first.folder
    assert prepared(parallel, max_target_length=4).fingerprint != first.fingerprint


def test_nothing_is_left_of_a_failure(parallel: Path, tmp_path: Path) -> None:
    with (parallel / "test.tgt2").open("ab") as file:
        file.write(b"\xff\n")
    with pytest.raises(InputError):
        prepare(Files(corpus=str(parallel), cache=str(tmp_path / "cache")), Words(), progress=False)
    assert list((tmp_path / "cache").iterdir()) == []


def test_unknown_splits_and_damage_are_named(parallel: Path, prepared: Prepared, tmp_path: Path) -> None:
    corpus = prepared(parallel)
    with pytest.raises(InputError, match="no split 'dev'; this corpus has train, valid, test"):
        corpus.split("dev")
    with pytest.raises(InputError, match=r"no corpus\.json"):
        Corpus.open(tmp_path)
    arrow = next((corpus.folder / "test").glob("*.arrow"))
    arrow.write_bytes(arrow.read_bytes()[:300])
    with pytest.raises(InputError, match="damaged"):
        Corpus.open(corpus.folder).split("test")
    (corpus.folder / "corpus.json").write_text("{")
    with pytest.raises(InputError, match="damaged"):
        Corpus.open(corpus.folder)


def test_missing_splits_are_carved_and_said(parallel: Path, prepared: Prepared) -> None:
    for file in parallel.glob("test.*"):
        file.unlink()
    corpus = prepared(parallel, test_share=0.2)
    counts = {name: split["rows"] for name, split in corpus.manifest["splits"].items()}
    assert counts["valid"] == 10
    assert counts["train"] + counts["test"] == 100
    assert 5 < counts["test"] < 40
    assert corpus.manifest["carved"] == ["test"]
    assert corpus.manifest["families"] == {"count": 100, "largest": 1}
    assert not set(corpus.split("train").sources(slice(None))) & set(corpus.split("test").sources(slice(None)))


def test_sources_on_two_given_sides_are_counted(parallel: Path, prepared: Prepared) -> None:
    with (parallel / "train.src").open("a") as file:
        file.write((parallel / "test.src").read_text().splitlines()[4] + "\n")
    with (parallel / "train.tgt").open("a") as file:
        file.write("again\n")
    assert prepared(parallel).manifest["sources_also_in_train"] == {"valid": 0, "test": 1}


def test_counts_of_unknown_and_cut_tokens(tmp_path: Path, prepared: Prepared) -> None:
    folder = tmp_path / "lines"
    folder.mkdir()
    for split, source, target in (
        ("train", "a b c\na b\n", "a\nb b b\n"),
        ("valid", "a q c\n", "z\n"),
        ("test", "a\n", "a\n"),
    ):
        (folder / f"{split}.src").write_text(source)
        (folder / f"{split}.tgt").write_text(target)
    splits = prepared(folder, max_source_length=2, max_target_length=3).manifest["splits"]
    assert splits["train"]["source"] == {"mean_tokens": 2, "unknown_share": 0, "truncated_share": 0.5}
    assert splits["train"]["target"] == {"mean_tokens": 1.5, "unknown_share": 0, "truncated_share": 0.5}
    assert splits["valid"]["source"] == {"mean_tokens": 2, "unknown_share": 0.5, "truncated_share": 1}
    assert splits["valid"]["target"] == {"mean_tokens": 1, "unknown_share": 1, "truncated_share": 0}
