"""Errors end in one line: bad input with exit code 2, a defect with 70. Odd streams and terminals are no error."""

import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bangbang import memory
from bangbang.cli import data as data_verb
from bangbang.cli.main import VERBS, main
from bangbang.reporting.results import not_finite

DEFECT = "bangbang: this is a defect of bangbang: KeyError: 'two lines'; please report it with what `--debug` prints\n"


def shell(command: str, *words: object, **environment: str) -> "subprocess.CompletedProcess[bytes]":
    """A shell command in which `bangbang` is this one and "$1", "$2", ... are the words."""
    line = f'bangbang() {{ "$PYTHON" -m bangbang "$@"; }}; {command}'
    kept = {name: value for name, value in os.environ.items() if name not in environment}
    given = {name: value for name, value in environment.items() if value} | {"PYTHON": sys.executable}
    return subprocess.run(
        ["sh", "-c", line, "sh", *map(str, words)], env=kept | given, capture_output=True, timeout=300, check=False
    )


def one_line(error: bytes) -> str:
    assert error.count(b"\n") == 1 and error.endswith(b"\n"), error.decode()
    return error.decode()


@pytest.fixture
def defective(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(arguments: object) -> int:
        raise KeyError("two lines")

    monkeypatch.setattr(data_verb, "run", fail)


def test_a_defect_is_one_line_and_exit_code_70(defective: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "x"]) == 70
    assert capsys.readouterr().err == DEFECT


@pytest.mark.parametrize("words", [["--debug", "data", "x"], ["data", "--debug", "x"], ["data", "x", "--debug"]])
def test_debug_adds_the_traceback(defective: None, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 70
    error = capsys.readouterr().err
    assert error.startswith("Traceback") and "in fail" in error and error.endswith(DEFECT)


def test_after_two_dashes_debug_is_a_word(defective: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "--", "--debug"]) == 70
    assert capsys.readouterr().err == DEFECT


@pytest.mark.parametrize(
    "error",
    [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to\nallocate 9 bytes")],
)
def test_a_lack_of_memory_is_one_line_and_exit_code_2(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(arguments: object) -> int:
        raise error

    monkeypatch.setattr(data_verb, "run", fail)
    assert main(["data", "x"]) == 2
    assert one_line(capsys.readouterr().err.encode()).startswith("bangbang: error: not enough memory (")


@pytest.mark.parametrize(
    "words", [["data"], ["train", "--out"], ["data", "x", "--show", "many"], ["data", "x", "--fly"]]
)
def test_what_the_parser_refuses_is_one_line(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert f"bangbang {words[0]} --help" in one_line(capsys.readouterr().err.encode())


CLOSED_INPUT = b"bangbang: error: standard input is closed; give it a file, or a pipe\n"
CLOSED_OUTPUT = b"bangbang: error: standard output is closed; send it to a file, or to /dev/null\n"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ('bangbang generate "$1" <&-', CLOSED_INPUT),
        ('echo a | bangbang generate "$1" >&-', CLOSED_OUTPUT),
        ('bangbang score - "$1/config.toml" <&-', CLOSED_INPUT),
        ('bangbang score "$1/config.toml" "$1/config.toml" >&-', CLOSED_OUTPUT),
    ],
)
def test_closed_streams_are_one_line_and_exit_code_2(tiny_run: Path, command: str, message: bytes) -> None:
    ended = shell(command, tiny_run)
    assert (ended.returncode, ended.stderr) == (2, message)


def test_a_closed_stderr_changes_nothing(tiny_run: Path) -> None:
    ended = shell('bangbang score "$1/config.toml" "$1/config.toml" --json 2>&-', tiny_run)
    assert ended.returncode == 0 and json.loads(ended.stdout)["examples"] > 0
    assert shell("bangbang score none none 2>&-").stdout == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full is Linux's")
@pytest.mark.parametrize("words", ["plugins", "--help", "plugins --json", "migrate --help"])
def test_a_full_disk_is_one_line_and_exit_code_2(words: str) -> None:
    ended = shell(f"bangbang {words} > /dev/full")
    assert ended.returncode == 2 and "No space left" in one_line(ended.stderr)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["evaluate", "RUN", "--beam", "9" * 11], "decoding.beam_size must be at least 1 and at most 100,000"),
        (["evaluate", "RUN", "--beam", "9" * 5000], "--beam"),
        (["evaluate", "RUN", "--limit", "-5"], "--limit: must be at least 0"),
        (["evaluate", "RUN", "--samples", "-1"], "--samples: must be at least 0"),
        (["evaluate", "RUN", "--seed", "-1"], "--seed: must be at least 0"),
        (["evaluate", "RUN", "--mbr", "9" * 11], "decoding.mbr_samples must be at least 1 and at most 4,096"),
        (["tune", "RUN", "--limit", "-1"], "--limit: must be at least 0"),
        (["explain", "RUN", "--seed", "9" * 30], "--seed: must be at least 0 and at most"),
        (["explain", "RUN", "--example", "-1"], "--example: must be at least 0"),
        (["explain", "RUN", "--targets", "--samples", "9" * 15], "samples needs at least"),
        (["compare", "RUN", "RUN", "--limit", "-5"], "--limit: must be at least 0"),
        (["compare", "RUN", "RUN", "--moved", "-5"], "--moved: must be at least 0"),
        (["score", "RUN/config.toml", "RUN/config.toml", "--resamples", "1"], "--resamples: must be at least 2"),
        (["score", "RUN/config.toml", "RUN/config.toml", "--resamples", "9" * 14], "resamples needs at least"),
        (["score", "RUN/config.toml", "RUN/config.toml", "--bytes", "0"], "--bytes: must be at least 1"),
        (["data", "RUN", "--show", "-1"], "--show: must be at least 0"),
        (["reproduce", "headlines", "--jobs", "0"], "--jobs: must be at least 1"),
        (["reproduce", "headlines", "--seeds", "-1"], "--seeds: must be at least 0"),
    ],
)
def test_numbers_out_of_range_are_one_line(
    tiny_run: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word.replace("RUN", str(tiny_run)) for word in words]) == 2
    assert message in one_line(capsys.readouterr().err.encode())


@pytest.mark.parametrize("options", [["--nbest", "9" * 12], ["--method", "sample", "--nbest", "9" * 12]])
def test_more_outputs_than_memory_are_one_line(
    tiny_run: Path, options: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a clock\n")))
    assert main(["generate", str(tiny_run), *options]) == 2
    assert "this machine has" in one_line(capsys.readouterr().err.encode())


def test_a_beam_beyond_memory_is_one_line(
    tiny_run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "machine_bytes", lambda: 2**20)
    assert main(["evaluate", str(tiny_run), "--beam", "10000"]) == 2
    assert "a beam of 10,000 for 20 lines needs" in one_line(capsys.readouterr().err.encode())


@pytest.mark.parametrize("kind", ["raml", "pg", "spg", "bbspg", "rloo"])
def test_more_samples_than_memory_are_one_line(
    tiny_config: Path, tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = ["--set", f"objective.kind={kind}", "--set", "objective.samples=1000000000000"]
    assert main(["train", str(tiny_config), "--out", str(tmp_path / "run"), *settings]) == 2
    assert "a step of 1,000,000,000,000 sequences for each of 16 examples needs" in one_line(
        capsys.readouterr().err.encode()
    )


@pytest.mark.parametrize("digits", ["9" * 5000, "0x" + "f" * 5000, "-" + "9" * 5000])
@pytest.mark.parametrize("key", ["training.seed", "optimizer.learning_rate", "objective.kind"])
def test_settings_of_thousands_of_digits_are_one_line(
    tiny_config: Path, tmp_path: Path, key: str, digits: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", str(tiny_config), "--out", str(tmp_path / "run"), "--set", f"{key}={digits}"]) == 2
    assert key.partition(".")[2] in one_line(capsys.readouterr().err.encode())


@pytest.mark.parametrize("score", ["NaN", "Infinity"])
def test_a_score_that_is_no_number_is_one_line_of_a_report(
    tiny_run: Path, tmp_path: Path, score: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = shutil.copytree(tiny_run, tmp_path / "run")
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    for line in lines:
        if line["kind"] == "valid":
            line["rouge-l"] = float(score)
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["report", str(run), "--out", str(tmp_path / "out")]) == 2
    assert "metrics.jsonl: rouge-l of step" in one_line(capsys.readouterr().err.encode())
    assert not (tmp_path / "out").exists()


def test_what_json_does_not_have_is_named() -> None:
    value = {"rows": [{"score": 1.0}, {"score": float("nan")}], "best": float("inf"), "none": None}
    assert list(not_finite(value, "it")) == ["it, rows, 1, score", "it, best"]


ASCII = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}


@pytest.fixture(scope="module")
def accented(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of parallel texts, and its name, that ASCII cannot write."""
    folder = tmp_path_factory.mktemp("é") / "größe"
    folder.mkdir()
    for split in ("train", "valid", "test"):
        (folder / f"{split}.src").write_text("".join(f"ein schönes Maß → {n}\n" for n in range(30)), "utf-8")
        (folder / f"{split}.tgt").write_text("".join(f"schön → {n}\n" for n in range(30)), "utf-8")
    return folder


def test_what_ascii_lacks_is_escaped(accented: Path, tiny_run: Path) -> None:
    ended = shell(
        'bangbang data "$1" --out "$1/made" --show 1 && bangbang plugins objectives bbspg && '
        'bangbang compare "$1/test.src" "$1/test.src" --references "$1/test.tgt" && '
        'bangbang score "$1/test.src" "$1/test.tgt" && bangbang evaluate "$2" --limit 3 && bangbang explain "$2" && '
        'bangbang report "$2" --label "é→" --out "$1/report" && '
        'bangbang reproduce headlines --corpus "$1" --out "$1/runs" --dry-run',
        accented,
        tiny_run,
        **ASCII,
    )
    assert ended.returncode == 0, ended.stderr.decode()
    assert b"sch\\xf6nes Ma\\xdf \\u2192 0" in ended.stdout and ended.stdout.isascii()


def test_a_name_that_is_not_utf8_is_one_line(accented: Path) -> None:
    ended = shell('bangbang data "$1" --out "$1/other"', accented, **ASCII, PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert ended.returncode == 2 and "LC_ALL=C.UTF-8" in one_line(ended.stderr)


def test_what_programs_read_is_utf8_whatever_the_locale(accented: Path, tiny_run: Path) -> None:
    made = shell('bangbang data "$1" --out "$1/made" --show 1 --json', accented, **ASCII)
    assert json.loads(made.stdout.decode("utf-8"))["examples"][0]["source"] == "ein schönes Maß → 0"
    read = 'echo "größe é" | bangbang generate "$1" --json --unknown'
    assert shell(read, tiny_run, **ASCII).stdout == shell(read, tiny_run, PYTHONUTF8="1").stdout != b""
    said = "from bangbang.cli.streams import write_utf8; write_utf8(); print('größe')"
    printed = shell('"$PYTHON" -c "$1"', said, **ASCII)
    assert printed.stdout == "größe\n".encode()


ODD = {"TERM": "dumb", "COLUMNS": "20", "HOME": ""}


def test_every_help_works_on_an_odd_terminal() -> None:
    loop = f"for verb in {' '.join(VERBS)}; do bangbang $verb --help || exit 1; done; bangbang --help"
    ended = shell(loop, **ODD)
    assert ended.returncode == 0 and not ended.stderr and ended.stdout.count(b"\nexamples:\n") == len(VERBS) + 1


def test_verbs_work_on_an_odd_terminal(tiny_run: Path, tiny_corpus: Path, tmp_path: Path) -> None:
    line = 'bangbang plugins && bangbang data "$1" --out "$2" --show 1 && bangbang evaluate "$3" --limit 3'
    ended = shell(line, tiny_corpus, tmp_path / "made", tiny_run, **ODD)
    assert ended.returncode == 0 and b"output" in ended.stdout and b"\x1b" not in ended.stdout, ended.stderr.decode()
