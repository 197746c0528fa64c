"""What a stranger may put into a folder: a command fails with one line, ends, and changes nothing outside."""

import argparse
import gzip
import json
import lzma
import os
import random
import shutil
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from bangbang.cli.main import main
from bangbang.corpora import text_files
from bangbang.corpora.pairs import Ledger
from bangbang.corpora.settings import Files
from bangbang.data import Split
from bangbang.data.raw import ENCODED
from bangbang.errors import InputError
from bangbang.files import read_json
from bangbang.heads import VocabularyHead
from bangbang.plain_files import open_plain, read_plain
from bangbang.training import Run, checkpoint
from bangbang.training.tensors import write_tensors
from benchmarks import hostile_surroundings as surroundings
from benchmarks.hostile import Case, all_cases, try_all
from benchmarks.hostile_ground import Ground
from benchmarks.hostile_replacements import REPLACEMENTS
from benchmarks.hostile_surroundings import SETTINGS, End, disk
from benchmarks.touched_places import read_calls

# each of these once did not end, or ended in a traceback
KNOWN = [
    ("texts/cache/*/corpus.json", "an endless device", "explain"),
    ("texts/cache/*/vocabulary.json", "a pipe", "train"),
    ("texts/cache/*/test/data-00000-of-00001.arrow", "a pipe", "evaluate"),
    ("texts/lines/valid.src", "an endless device", "train"),
    ("texts/lines/test.tgt", "a pipe", "score"),
    ("texts/run/config.toml", "an empty device", "resume"),
    ("texts/run/checkpoints/step-00000002/model.safetensors", "an endless device", "generate"),
    ("texts/run/checkpoints/step-00000004/state.json", "a pipe", "compare"),
    ("texts/run/metrics.jsonl", "a pipe", "report"),
    ("texts/run/test.json", "a number", "report"),
    ("images/scenes/features.npy", "a pipe", "evaluate"),
    ("images/scenes/captions.json", "an endless device", "data"),
]
SAMPLED = 20


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return Ground(tmp_path_factory.mktemp("hostile"), ("texts", "images"))


@pytest.mark.slow
def test_known_replacements_end_in_one_line(ground: Ground) -> None:
    cases = []
    for pattern, replacement, verb in KNOWN:
        (place,) = ground.sound.glob(pattern)
        cases.append(Case(str(place.relative_to(ground.sound)), replacement, verb))
    assert [found for found in try_all(ground, cases) if found[1]] == []


@pytest.mark.slow
def test_a_sample_of_all_replacements_ends_in_one_line(ground: Ground) -> None:
    cases = random.Random(0).sample(list(all_cases(ground)), SAMPLED)
    assert [found for found in try_all(ground, cases) if found[1]] == []


@pytest.mark.slow
def test_what_a_case_does_wrong_is_told(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """A defect, a write outside, a change of what is only read, and one that does not end."""
    monkeypatch.setattr("benchmarks.hostile_workers.SECONDS", 1)
    case = Case("texts/run/test.json", "nothing", "evaluate")

    def told(run: Callable[[argparse.Namespace], object]) -> str:
        monkeypatch.setattr("bangbang.cli.evaluate.run", run)
        ((_, trouble),) = try_all(ground, [case])
        return trouble

    assert "exit code 70" in told(lambda arguments: 1 / 0)
    assert told(lambda arguments: (ground.outside / "precious").write_text("mine")) == "changed what is outside"
    assert "changed what it only reads" in told(lambda arguments: (ground.theirs / "new").mkdir() or 0)
    assert told(lambda arguments: time.sleep(9)) == "did not end"
    assert told(lambda arguments: os.kill(os.getpid(), 9)) == "ended the process"
    assert told(lambda arguments: 0) == ""


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS)
def test_verbs_in_odd_surroundings(ground: Ground, setting: str, tmp_path: Path) -> None:
    with disk(tmp_path / "disk") as small:
        for verb in ("report", "resume") if SETTINGS[setting].room is not None else ("plugins", "generate", "data"):
            assert not surroundings.attempt(ground, verb, "texts", setting, small), verb


@pytest.mark.parametrize(
    ("end", "setting"),
    [
        (End(70, "", "bangbang: this is a defect of bangbang: ..."), "LANG=C"),
        (End(0, "", ""), "stdout closed"),
        (End(2, "", "bangbang: error: why"), "20 columns"),
        (End(2, "", "Traceback (most recent call last): ...\nbangbang: error: why"), "a full disk"),
        (End(120, "", ""), "stdout full"),
        (End(2, "", ""), "a full disk"),
    ],
)
def test_what_is_wrong_in_odd_surroundings_is_told(end: End, setting: str) -> None:
    assert surroundings.trouble_of(end, "evaluate", "texts", setting)
    assert not surroundings.trouble_of(End(2, "", "bangbang: error: no room"), "evaluate", "texts", "a full disk")


def test_places_that_a_verb_asks_for(tmp_path: Path) -> None:
    """By name, relative to a folder that is open, on the way to another, or by a list of all in a folder."""
    theirs = tmp_path / "theirs"
    calls = f"""1 openat(AT_FDCWD</work>, "{theirs}/run/config.toml", O_RDONLY) = 3</x>
1 newfstatat(4<{theirs}/run/checkpoints>, "step-2/state.json", 0x7ffd, AT_SYMLINK_NOFOLLOW) = 0
2 getdents64(3<{theirs}/cache>, 0x55 /* 4 entries */, 32768) = 112
1 stat("/elsewhere/lines", 0x7ffd) = -1 ENOENT (No such file or directory)
"""
    (tmp_path / "calls").write_text(calls)
    ground = types.SimpleNamespace(theirs=theirs, work=tmp_path / "work")
    found = read_calls(tmp_path / "calls", cast(Ground, ground))
    asked = ("run", "run/config.toml", "run/checkpoints", "run/checkpoints/step-2/state.json", "cache/made")
    assert all(found.has(place) for place in asked)
    assert not any(found.has(place) for place in ("lines", "run/samples", "cache/made/train", "run/checkpoints/step-4"))


@pytest.mark.parametrize("replacement", ["a pipe", "an endless device", "an empty device", "a folder"])
def test_only_plain_files_are_read(tmp_path: Path, replacement: str) -> None:
    REPLACEMENTS[replacement](tmp_path / "file", tmp_path)
    with pytest.raises(OSError, match=r"is a pipe or a device|Is a directory"):
        open_plain(tmp_path / "file")
    with pytest.raises(InputError, match=r"file: damaged or missing \((is a pipe|Is a directory)"):
        read_json(tmp_path / "file")


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(bytes(2**20 + 1))
    assert read_plain(path, 2**20 + 1) == bytes(2**20 + 1)
    with pytest.raises(OSError, match="larger than 1 MB"):
        read_plain(path, 2**20)


@pytest.mark.parametrize("name", ["config.toml", "vocabulary.json", "checkpoints/step-00000060/state.json"])
def test_files_of_a_run_have_limits(run: Path, name: str) -> None:
    os.truncate(run / name, 2**40)  # a hole, which takes no room
    with pytest.raises(InputError, match=r"larger than \d+ MB"):
        Run.open(run).load_model("60")


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_damaged_blocks_of_packed_files_name_the_place(
    tmp_path: Path, ending: str, pack: Callable[[bytes], bytes]
) -> None:
    chance = random.Random(1)
    packed = pack("".join(f"{chance.random()}\n" for _ in range(2_000)).encode())
    path = tmp_path / f"train.src{ending}"
    for place in range(20, len(packed) - 20, len(packed) // 40):
        path.write_bytes(packed[:place] + bytes([packed[place] ^ 0xFF]) + packed[place + 1 :])
        with pytest.raises(InputError, match=r"train\.src\.\w+:\d+: "):
            list(text_files.lines(path))
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InputError, match=r"train\.src\.\w+:\d+: cannot be read"):
        list(text_files.lines(path))


def test_a_small_packed_file_is_not_one_endless_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "LINE_BYTES", 100)
    path = tmp_path / "lines.gz"
    path.write_bytes(gzip.compress(b"a" * 99 + b"\n" + b"b" * 1_000))
    lines = text_files.lines(path)
    assert next(lines) == "a" * 99
    with pytest.raises(InputError, match=r"lines\.gz:2: a line of more than"):
        next(lines)


def bad_tables() -> Iterator[tuple[str, pa.Table]]:
    texts = pa.array(["a", "b"])
    yield "several fields", pa.Table.from_arrays([texts, texts, texts], names=["source", "source", "target"])
    far = pa.array([2**50, 1]).cast(pa.timestamp("ms"))
    yield "row 1", pa.Table.from_arrays([far, texts], names=["source", "target"])
    broken = pa.Array.from_buffers(pa.string(), 2, [None, texts.buffers()[1], pa.py_buffer(b"\xff\xfe")])
    yield "row 1", pa.Table.from_arrays([broken, texts], names=["source", "target"])
    yield "is int, not text", pa.Table.from_arrays([pa.array([1, 2]), texts], names=["source", "target"])


@pytest.mark.parametrize(("told", "table"), bad_tables())
def test_odd_parquet_is_an_error_of_its_row(tmp_path: Path, told: str, table: pa.Table) -> None:
    pq.write_table(table, tmp_path / "rows.parquet")
    with pytest.raises(InputError, match=rf"rows\.parquet.*{told}"):
        list(Files(corpus=str(tmp_path / "rows.parquet")).build().splits["train"](Ledger()))


@pytest.mark.parametrize("corpus", ["~nobody-of-this-name", "~nobody-of-this-name/pairs.jsonl"])
def test_a_home_that_nobody_has(corpus: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", corpus]) == 2
    assert "write the path out" in capsys.readouterr().err


def test_a_pipe_in_a_datasets_folder(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "state.json")
    with pytest.raises(InputError, match="is a pipe or a device"):
        Files(corpus=str(tmp_path)).build()


@pytest.mark.parametrize(
    ("targets", "ids", "told"),
    [
        ([["b"], []], [[[4, 2]], []], "a row without a reference"),
        ([["b"], None], [[[4, 2]], [[4, 2]]], "not as many texts"),
        ([["b"], [None]], [[[4, 2]], [[4, 2]]], "nothing in a place"),
        ([["b"], ["b", "b"]], [[[4, 2]], [[4, 2]]], "not as many texts"),
    ],
)
def test_every_reference_is_a_text(targets: object, ids: object, told: str) -> None:
    columns = {"source": ["a", "a"], "targets": targets, "source_ids": [[4], [4]], "target_ids": ids}
    with pytest.raises(ValueError, match=told):
        Split(pa.table(columns, ENCODED))


def test_a_split_without_rows_is_damaged(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = json.loads((run / "corpus.json").read_text())
    shutil.copytree(facts["folder"], tmp_path / "corpus")
    manifest = json.loads((tmp_path / "corpus" / "corpus.json").read_text())
    for split in manifest["splits"]:
        manifest["splits"][split]["rows"] = 0
        with pa.ipc.new_stream(tmp_path / "corpus" / split / "data-00000-of-00001.arrow", ENCODED):
            pass
    (tmp_path / "corpus" / "corpus.json").write_text(json.dumps(manifest))
    (run / "corpus.json").write_text(json.dumps({**facts, "folder": str(tmp_path / "corpus")}))
    for verb in (["evaluate", str(run)], ["explain", str(run)], ["compare", str(run), str(run)]):
        assert main(verb) == 2
        assert "damaged (no rows)" in capsys.readouterr().err


@pytest.fixture
def run(tiny_run: Path, tmp_path: Path) -> Path:
    shutil.copytree(tiny_run, tmp_path / "run")
    return tmp_path / "run"


def test_a_step_of_5000_digits(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(run), "--checkpoint", "9" * 5_000]) == 2
    assert "no checkpoint '999" in capsys.readouterr().err


@pytest.mark.parametrize("splits", [{"test": []}, {"test": 7}, [], {"test": None}])
def test_a_report_of_a_run_whose_splits_are_none(run: Path, tmp_path: Path, splits: object) -> None:
    facts = json.loads((run / "corpus.json").read_text())
    (run / "corpus.json").write_text(json.dumps({**facts, "splits": splits}))
    assert main(["report", str(run), "--out", str(tmp_path / "report")]) == 0


def test_weights_whose_products_overflow_generate_nothing(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opened = Run.open(run)
    for found in (run / "checkpoints").iterdir():
        model = opened.load_model(str(int(found.name.removeprefix("step-"))))
        weights = {name: torch.full_like(tensor, 3e38) for name, tensor in model.state_dict().items()}
        with (found / checkpoint.MODEL).open("wb") as file:
            write_tensors(file, weights)
        state = json.loads((found / checkpoint.STATE).read_text())
        state["sha256"][checkpoint.MODEL] = checkpoint.checksum(found / checkpoint.MODEL)
        (found / checkpoint.STATE).write_text(json.dumps(state))
    for verb in ("evaluate", "explain"):
        assert main([verb, str(run)]) == 2
        assert "the model generates nothing" in capsys.readouterr().err


def test_tokens_that_are_no_whole_numbers_are_refused() -> None:
    head = VocabularyHead(9, 4)
    for call in (head.log_prob, head.candidate_logits):
        with pytest.raises(InputError, match="whole numbers"):
            call(torch.zeros(2, 4), torch.zeros(2, 1))
