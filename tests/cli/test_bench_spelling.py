"""`bangbang bench spelling` counts what comes back, by a corpus whose targets are known."""

import json
from pathlib import Path

import pytest

from bangbang.cli.main import main
from bangbang.corpora.settings import Files
from bangbang.data import prepare
from bangbang.data.settings import BytePairs, VocabularySettings, Words


def corpus(folder: Path, vocabulary: VocabularySettings) -> Path:
    targets = {"train": ["Read the API, then stop."] * 4, "valid": ["Read the API.", "Read the api.", "Write the API."]}
    for split, lines in targets.items():
        (folder / f"{split}.tgt").write_text("".join(f"{line}\n" for line in lines))
        (folder / f"{split}.src").write_text("".join(f"source {number}\n" for number in range(len(lines))))
    data = Files(corpus=str(folder), cache=str(folder / "cache"), test_share=0.0)
    return prepare(data, vocabulary, progress=False).folder


def test_it_counts_exact_ones_among_those_of_known_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(corpus(tmp_path, Words()))
    assert main(["bench", "spelling", folder, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["targets"], result["known"], result["restored"], result["but_capitals"]) == (3, 2 / 3, 0.5, 1.0)
    assert result["examples"] == [["Read the api.", "Read the API."]]
    assert main(["bench", "spelling", folder]) == 0
    shown = capsys.readouterr().out
    assert "50.0%" in shown and "restored  Read the API." in shown


def test_pieces_need_no_spelling(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "spelling", str(corpus(tmp_path, BytePairs(size=300)))]) == 2
    assert "pieces of words, which come back exactly" in capsys.readouterr().err
