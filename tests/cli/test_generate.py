"""`bangbang generate`: line in, line out, whatever the lines are."""

import io
import json
import shutil
import sys
from pathlib import Path

import pytest

from bangbang.cli.main import main
from tests.conftest import sentence


def generate(run: Path, text: bytes, *options: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        assert main(["generate", str(run), *options]) == 0
    out = capsys.readouterr().out
    assert out == "" or out.endswith("\n")
    return out.split("\n")[:-1]


LINES = [sentence(number)[0] for number in range(400, 464)]


def test_written_outputs_differ_in_capitals_and_blanks_alone(
    tiny_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = shutil.copytree(tiny_run, tmp_path / "run")
    (run / "spelling.json").write_text('{"capital": true, "inside": {}, "first": {}, "blanks": {}}')
    text = "\n".join([*LINES[:3], ""]).encode()
    plain, written = (generate(run, text, *options, capsys=capsys) for options in ([], ["--written"]))
    assert written == [line.capitalize() for line in plain] != plain
    (run / "spelling.json").unlink()  # as in runs of old
    assert generate(run, text, "--written", capsys=capsys) == plain


def test_a_line_decodes_the_same_alone_and_in_a_batch(tiny_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [*LINES[:60], "", "a", "many " * 500, "clock"]
    for options in ([], ["--beam", "3"]):
        together = generate(tiny_run, "\n".join(lines).encode(), *options, capsys=capsys)
        assert len(together) == 64
        alone = [generate(tiny_run, line.encode() + b"\n", *options, capsys=capsys) for line in lines]
        assert [[line] for line in together] == alone


def test_sampling_depends_on_the_seed_and_not_on_the_batch_size(
    tiny_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "\n".join(LINES).encode()
    options = ["--method", "sample", "--temperature", "2.0"]
    one = generate(tiny_run, text, *options, capsys=capsys)
    assert one == generate(tiny_run, text, *options, "--batch-size", "5", capsys=capsys)
    assert one != generate(tiny_run, text, *options, "--seed", "2", capsys=capsys)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (b"", 0),
        (b"\n", 1),
        (b"\n\n", 2),
        (b"no line feed at the end", 1),
        (b"a\r\nb\r\n", 2),
        (b"bad \xff\xfe bytes\n", 1),
        (b"nul \x00 byte\n", 1),
        ("line separator \u2028 is no line feed\n".encode(), 1),
        (b"</s> <s> <pad> <unk>\n", 1),
        (b"   \t \n", 1),
    ],
)
def test_odd_lines(tiny_run: Path, capsys: pytest.CaptureFixture[str], text: bytes, lines: int) -> None:
    out = generate(tiny_run, text, capsys=capsys)
    assert len(out) == lines
    if text.strip() == b"":
        assert all(line == "" for line in out)


def test_nbest_scores_and_json(tiny_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "\n".join(LINES[:2]).encode()
    rows = [row.split("\t") for row in generate(tiny_run, text, "--nbest", "3", "--scores", capsys=capsys)]
    assert [row[0] for row in rows] == ["1"] * 3 + ["2"] * 3
    scores = [float(row[1]) for row in rows]
    assert scores[:3] == sorted(scores[:3], reverse=True)
    records = [json.loads(row) for row in generate(tiny_run, text, "--nbest", "3", "--json", capsys=capsys)]
    assert [record["line"] for record in records] == [1, 2]
    assert [each["text"] for each in records[0]["outputs"]] == [row[2] for row in rows[:3]]


def test_dup_is_on_unless_switched_off(tiny_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--method", "sample", "--temperature", "50"]  # nearly uniform over some forty tokens
    text = "\n".join(LINES).encode()

    def repeats(lines: list[str]) -> int:
        return sum(a == b for line in lines for a, b in zip(line.split(), line.split()[1:], strict=False))

    assert repeats(generate(tiny_run, text, *options, capsys=capsys)) == 0
    assert repeats(generate(tiny_run, text, *options, "--no-dup", capsys=capsys)) > 0


def test_minimum_bayes_risk_is_the_same_alone_and_in_a_batch(
    tiny_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines, options = [*LINES[:12], "", "clock"], ["--mbr", "8", "--temperature", "1.5", "--seed", "3"]
    text = "\n".join(lines).encode()
    together = generate(tiny_run, text, *options, capsys=capsys)
    assert len(together) == 14 and together[12] == ""
    assert together == generate(tiny_run, text, *options, "--batch-size", "3", capsys=capsys)
    assert together == generate(tiny_run, text, *options, "--utility", "rouge-l", capsys=capsys)
    assert together != generate(tiny_run, text, *options, "--seed", "4", capsys=capsys)


def test_the_best_candidates_of_minimum_bayes_risk(tiny_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--mbr", "16", "--temperature", "2", "--nbest", "3", "--utility", "rouge-l"]
    (record,) = [json.loads(row) for row in generate(tiny_run, LINES[0].encode(), *options, "--json", capsys=capsys)]
    texts, scores = ([each[key] for each in record["outputs"]] for key in ("text", "score"))
    assert len(set(texts)) == 3 and scores == sorted(scores, reverse=True) and 0 < scores[0] < 1
