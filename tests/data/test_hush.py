"""Where the Rust side of `tokenizers` gives up, it prints a backtrace. A user sees one line of ours alone."""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest

from bangbang.cli.main import main
from bangbang.data.hush import hushed
from benchmarks.tokenizer_ground import byte_level, unigram


def with_prefix() -> dict[str, Any]:
    """Merges take a prefix off their second part, which is shorter than it."""
    table: dict[str, Any] = json.loads(byte_level().to_str())
    table["model"]["continuing_subword_prefix"] = "###"
    return table


def with_charsmap(trie: bytes, texts: bytes = b"a\0") -> dict[str, Any]:
    table: dict[str, Any] = json.loads(unigram())
    charsmap = len(trie).to_bytes(4, "little") + trie + texts
    table["normalizer"]["precompiled_charsmap"] = base64.b64encode(charsmap).decode()
    return table


PANICS = {
    "when it is made": with_prefix(),
    "texts that are no UTF-8": with_charsmap(bytes(1024), b"\xff\0"),
    "when it is used": with_charsmap(bytes(4)),
}


def command(folder: Path, table: dict[str, Any]) -> list[str]:
    """One that makes a corpus by a tokenizer of this table."""
    (folder / "tokenizer.json").write_text(json.dumps(table))
    (folder / "pairs.tsv").write_text("".join(f"a text {number}\ta b\n" for number in range(40)))
    settings = {"vocabulary.kind": "tokenizer", "vocabulary.file": folder / "tokenizer.json", "data.test_share": 0}
    words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    return ["data", str(folder / "pairs.tsv"), *words, "--out", str(folder / "corpora")]


@pytest.mark.parametrize("when", PANICS)
def test_a_tokenizer_that_panics_is_one_line(when: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(command(tmp_path, PANICS[when])) == 2
    told = capfd.readouterr().err
    assert len(told.splitlines()) == 1, told
    assert told.startswith("bangbang: error: ") and ".json: " in told


def test_a_process_of_its_own_says_one_line(tmp_path: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-m", "bangbang", *command(tmp_path, with_prefix())],
        env={**os.environ, "RUST_BACKTRACE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 2
    assert len(told.stderr.splitlines()) == 1, told.stderr


def test_standard_error_is_back_when_the_last_thread_leaves(capfd: pytest.CaptureFixture[str]) -> None:
    both = Barrier(2)

    def write(number: int) -> None:
        with hushed():
            both.wait()
            os.write(2, f"within {number}\n".encode())
            both.wait()

    threads = [Thread(target=write, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os.write(2, b"after\n")
    assert capfd.readouterr().err == "after\n"


def test_a_closed_standard_error_stays_closed() -> None:
    code = "import os; from bangbang.data.hush import hushed; os.close(2)\nwith hushed(): pass\n"
    code += "try: os.fstat(2)\nexcept OSError: print('closed')"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "closed\n"
