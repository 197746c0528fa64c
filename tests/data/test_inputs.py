"""Files as people have them: what is read, what is dropped and counted, what is refused with file and line."""

import json
from collections.abc import Callable
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bangbang.cli.main import main
from bangbang.corpora.text_files import lines
from bangbang.data import Corpus

Prepared = Callable[..., Corpus]
ROWS = [(f"a source of number {n}", f"target {n}") for n in range(60)]


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one line on stderr of a `bangbang data` call that must fail."""
    assert main(["data", *arguments]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1, lines
    return lines[0]


def folder_of(tmp_path: Path, files: dict[str, bytes]) -> Path:
    folder = tmp_path / "corpus"
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


GOOD = {f"{split}.{side}": b"one two\nthree four\n" for split in ("train", "valid", "test") for side in ("src", "tgt")}

# files that differ from GOOD (None: not there) -> what the error must say
BAD_FOLDERS: dict[str, tuple[dict[str, bytes | None], str]] = {
    "bad utf-8": ({"train.src": b"one two\nthree \xff four\n"}, "train.src:2: not UTF-8 (byte 7 of the line)"),
    "utf-16": ({"train.tgt": "one\ntwo\n".encode("utf-16")}, "train.tgt:1: not UTF-8"),
    "short target": ({"valid.tgt": b"one two\n"}, "valid.tgt:2: line missing: valid.src has 2, valid.tgt has 1 lines"),
    "short source": ({"valid.src": b""}, "valid.src:1: line missing: valid.src has 0, valid.tgt has 2 lines"),
    "no train": ({"train.src": None, "train.tgt": None}, "no corpus here: expected train.src"),
    "no train.src": ({"train.src": None}, "train.src: no such file"),
    "no test.src": ({"test.src": None}, "test.src: no such file"),
    "no train.tgt": ({"train.tgt": None}, "train.tgt: no such file; train.src needs train.tgt, or train.tgt0"),
    "a gap": ({"test.tgt": None, "test.tgt0": b"a\nb\n", "test.tgt2": b"a\nb\n"}, "test.tgt1 is missing"),
    "both kinds": ({"test.tgt0": b"a\nb\n"}, "test.tgt: there is also test.tgt0"),
    "two names": ({"dev.src": b"a\nb\n"}, "valid.src and dev.src are the same split"),
    "all empty": ({"valid.src": b"\n\n"}, "no usable pair in valid; dropped 2 for: empty source"),
}


@pytest.mark.parametrize("case", BAD_FOLDERS)
def test_bad_parallel_text(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changes, message = BAD_FOLDERS[case]
    files = {name: content for name, content in {**GOOD, **changes}.items() if content is not None}
    folder = folder_of(tmp_path, files)
    assert message in refused([str(folder), "--out", str(tmp_path / "cache")], capsys)


def test_line_ends_marks_and_odd_separators(tmp_path: Path, prepared: Prepared) -> None:
    odd = "a\u2028b\x85c\x0bd"
    files = {
        "train.src": b"\xef\xbb\xbfone\r\n" + odd.encode() + b"\r\nlast",
        "train.tgt": b"eins\nzwei\r\ndrei",
        "dev.src": b"one\n",
        "dev.tgt": b"eins",
        "test.src": b"one",
        "test.tgt": b"eins\n",
    }
    corpus = prepared(folder_of(tmp_path, files))
    train = corpus.split("train")
    assert train.sources(slice(None)) == ["one", odd, "last"]
    assert train.references(slice(None)) == [["eins"], ["zwei"], ["drei"]]
    assert len(corpus.split("valid")) == len(corpus.split("test")) == 1


def test_one_carriage_return_is_part_of_the_line_end(tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_bytes(b"a\r\nb\r\r\n\rc\nd\r")
    assert list(lines(file)) == ["a", "b\r", "\rc", "d"]


def test_empty_sides_and_nuls_are_dropped_and_counted(tmp_path: Path, prepared: Prepared) -> None:
    files = {
        **GOOD,
        "train.src": b"good\n\nno target\nnul\0here\n \t \nlast\n",
        "train.tgt": b"fine\nno source\n  \nnul\nblank\nnul\0\n",
    }
    corpus = prepared(folder_of(tmp_path, files))
    assert corpus.split("train").sources(slice(None)) == ["good"]
    assert corpus.manifest["drops"] == {"empty source": 2, "NUL character": 2, "empty target": 1}


def test_a_blank_reference_among_several_is_ignored(tmp_path: Path, prepared: Prepared) -> None:
    files = {**GOOD, "test.tgt0": b"a\n\n", "test.tgt1": b"\nb\n", "test.tgt2": b"c\n\n"}
    del files["test.tgt"]
    test = prepared(folder_of(tmp_path, files)).split("test")
    assert test.references(slice(None)) == [["a", "c"], ["b"]]
    assert test.examples == 3


def write_rows(path: Path) -> Path:
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps({"n": 1, "target": t, "source": s}) + "\n" for s, t in ROWS))
    elif path.suffix == ".csv":
        path.write_text("n,source,target\r\n" + "".join(f'1,"{s}",{t}\r\n' for s, t in ROWS))
    else:
        pq.write_table(pa.table({"source": [s for s, _ in ROWS], "target": [t for _, t in ROWS]}), path)
    return path


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_one_file_is_split_by_its_sources(suffix: str, tmp_path: Path, prepared: Prepared) -> None:
    corpus = prepared(write_rows(tmp_path / f"rows{suffix}"), valid_share=0.2, test_share=0.2)
    assert corpus.manifest["carved"] == ["valid", "test"]
    found = {}
    for name in ("train", "valid", "test"):
        split = corpus.split(name)
        assert len(split) > 2
        found.update(zip(split.sources(slice(None)), (one[0] for one in split.references(slice(None))), strict=True))
    assert found == dict(ROWS)


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_a_folder_of_tables(suffix: str, tmp_path: Path, prepared: Prepared) -> None:
    folder = tmp_path / "tables"
    folder.mkdir()
    for name in ("train", "val", "test"):
        write_rows(folder / f"{name}{suffix}")
    corpus = prepared(folder)
    assert corpus.manifest["carved"] == []
    assert corpus.split("valid").sources(slice(None)) == [source for source, _ in ROWS]
    assert corpus.manifest["sources_also_in_train"] == {"valid": 60, "test": 60}


def test_lists_of_references_and_nulls(tmp_path: Path, prepared: Prepared) -> None:
    rows = [
        {"source": "one", "target": ["a", "b", None, ""]},
        {"source": "two", "target": []},
        {"source": None, "target": "c"},
        {"source": "three\nlines", "target": "\ud800"},
        {"source": "four", "target": "d"},
    ]
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows) + "\n\n")
    corpus = prepared(file, valid_share=0.0, test_share=0.0)
    assert corpus.split("train").references(slice(None)) == [["a", "b"], ["d"]]
    assert corpus.manifest["drops"] == {"empty target": 1, "empty source": 1, "half a surrogate pair": 1}
    assert list(corpus.manifest["splits"]) == ["train"]


def test_csv_fields_may_hold_lines(tmp_path: Path, prepared: Prepared) -> None:
    file = tmp_path / "rows.csv"
    file.write_text('source,target\n"two\nlines, one field",short\n')
    assert prepared(file, valid_share=0.0, test_share=0.0).split("train").sources(slice(None)) == [
        "two\nlines, one field"
    ]


BAD_FILES: dict[str, tuple[str, bytes, str]] = {
    "malformed json": ("x.jsonl", b'{"source": "a", "target": "b"}\n{"source": \n', "x.jsonl:2: not JSON"),
    "json list": ("x.jsonl", b"[1]\n", "x.jsonl:1: expected an object"),
    "csv as json": ("x.jsonl", b"source,target\na,b\n", "a table with a header is a .csv"),
    "json as csv": ("x.csv", b'{"source": "a", "target": "b"}\n', "JSON, by its first line; rename it to x.jsonl"),
    "semicolons": ("x.csv", b"source;target\na;b\n", "x.csv: its fields are parted by semicolons, not by commas"),
    "tabs": ("x.csv", b"source\ttarget\na\tb\n", "x.csv: its fields are parted by tabs"),
    "deep json": ("x.jsonl", b"[" * 100_000 + b"\n", "x.jsonl:1: not JSON"),
    "other field": ("x.jsonl", b'{"article": "a", "title": "b"}\n', "no field 'source'; it has 'article', 'title'"),
    "number": ("x.jsonl", b'{"source": "a", "target": 3}\n', "x.jsonl:1: field 'target' is int, not text: 3"),
    "number in list": ("x.jsonl", b'{"source": "a", "target": ["b", 3]}\n', "x.jsonl:1: field 'target' is int"),
    "json utf-8": ("x.jsonl", b'{"source": "\xe9"}\n', "x.jsonl:1: not UTF-8"),
    "csv header": ("x.csv", b"a,b\n1,2\n", "x.csv: no field 'source'; it has 'a', 'b'"),
    "csv short row": ("x.csv", b"source,target\na,b\nc\n", "x.csv:3: 1 fields, but the header names 2"),
    "csv open quote": ("x.csv", b'source,target\na,"b\n', "x.csv:2: not CSV"),
    "empty csv": ("x.csv", b"", "x.csv: no field 'source'; it has none"),
    "empty json": ("x.jsonl", b"", "no usable pair in train"),
    "not parquet": ("x.parquet", b"PAR1 no", "x.parquet: row 1: not readable as Parquet"),
    "unknown kind": ("x.xlsx", b"", "x.xlsx: unknown kind of file; known are .jsonl, .csv, .parquet"),
    "too few": ("x.jsonl", b'{"source": "a", "target": "b"}\n', "too few to carve a"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_files(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name, content, message = BAD_FILES[case]
    (tmp_path / name).write_bytes(content)
    assert message in refused([str(tmp_path / name), "--out", str(tmp_path / "cache")], capsys)


def test_wrong_parquet_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"source": [1, 2], "title": ["a", "b"]}), path)
    assert "no field 'target'; it has 'source', 'title'" in refused([str(path)], capsys)
    options = ["--set", "data.target_field=title", "--out", str(tmp_path / "cache")]
    assert "x.parquet: row 1: field 'source' is int" in refused([str(path), *options], capsys)


def test_a_datasets_folder(tmp_path: Path, prepared: Prepared) -> None:
    rows = {"text": [s for s, _ in ROWS], "short": [[t, "other"] for _, t in ROWS]}
    parts = datasets.Dataset.from_dict(rows)
    named = {"train": parts.select(range(40)), "validation": parts.select(range(40, 50))}
    datasets.DatasetDict(named).save_to_disk(str(tmp_path / "saved"))
    corpus = prepared(tmp_path / "saved", source_field="text", target_field="short", test_share=0.3)
    assert corpus.manifest["carved"] == ["test"]
    assert corpus.split("valid").references(slice(0, 1)) == [["target 40", "other"]]
    parts.select(range(50)).save_to_disk(str(tmp_path / "single"))
    single = prepared(tmp_path / "single", source_field="text", target_field="short", valid_share=0.3, test_share=0.3)
    assert sum(split["rows"] for split in single.manifest["splits"].values()) == 50


def test_bad_datasets_folders_and_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "saved"
    datasets.DatasetDict({"test": datasets.Dataset.from_dict({"a": ["b"]})}).save_to_disk(str(folder))
    capsys.readouterr()
    assert "saved: no split 'train'; it has test" in refused([str(folder)], capsys)
    (folder / "dataset_dict.json").write_text("{")
    assert "not readable as a datasets folder" in refused([str(folder)], capsys)
    assert "./none: no such file or folder" in refused(["./none"], capsys)
    for name in ("none.jsonl", "none.txt", "none.src"):
        assert f"{name}: no such file or folder" in refused([name], capsys)


BAD_OPTIONS = {
    "data.max_source_length=0": "data.max_source_length must be at least 1 and at most a million, not 0",
    "data.max_target_length=1": "data.max_target_length must be at least 2",
    "data.valid_share=1.5": "data.valid_share must be a share from 0 to below 1",
    "data.test_share=0.97": "leave nothing for training",
    "vocabulary.size=2": "vocabulary.size = 2: a word vocabulary needs 5",
    "data.path=elsewhere": "'path' belongs to corpus docstrings and debian and debian-translations and shapes",
    "data.lenght=3": "unknown key 'lenght'",
}


@pytest.mark.parametrize("setting", BAD_OPTIONS)
def test_bad_options(setting: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = folder_of(tmp_path, {name: content for name, content in GOOD.items() if "valid" not in name})
    arguments = [str(folder), "--set", setting, "--out", str(tmp_path / "cache")]
    assert BAD_OPTIONS[setting] in refused(arguments, capsys)


def test_the_verb_prints_numbers_and_pairs(parallel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["data", str(parallel), "--out", str(tmp_path / "cache"), "--show", "2"]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert "vocabulary: " in printed
    assert "→ cat at house 0" in printed
    assert main([*arguments, "--json"]) == 0
    numbers = json.loads(capsys.readouterr().out)
    assert numbers["splits"]["train"]["rows"] == 100
    assert len(numbers["examples"]) == 2
    assert Path(numbers["folder"]).is_dir()


def test_a_config_file_names_the_corpus(parallel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "run.toml"
    file.write_text(f'[data]\ncorpus = "{parallel}"\nmax_source_length = 4\n[training]\nseed = 2\n')
    assert main(["data", str(file), "--out", str(tmp_path / "cache"), "--set", "vocabulary.size=50", "--json"]) == 0
    numbers = json.loads(capsys.readouterr().out)
    assert numbers["options"]["data"]["max_source_length"] == 4
    assert numbers["vocabulary_size"] == 50
