"""The verbs score and compare as a person meets them: files in, table or JSON out, clear errors."""

import io
import json
import os
import sys

import pytest

from bangbang.cli.main import main
from bangbang.cli.metric_options import read_lines
from bangbang.errors import InputError

HYP, REF, OTHER = "a man riding a wave\nthe cat sat\n\n", "a man rides a wave\nthe cat sat\nnobody\n", "x\ny\nz\n"


@pytest.fixture
def files(tmp_path):
    for name, text in {"hyp": HYP, "ref": REF, "other": OTHER, "short": "one\n", "none": ""}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "latin").write_bytes(b"fine\ncaf\xe9\nfine\n")
    (tmp_path / "dos").write_bytes(HYP.replace("\n", "\r\n").encode())
    return lambda name: str(tmp_path / name)


def report(capsys, *arguments):
    assert main(arguments) == 0
    return json.loads(capsys.readouterr().out)


def test_score_prints_a_table_and_the_signature(files, capsys):
    assert main(["score", files("hyp"), files("ref")]) == 0
    out = capsys.readouterr().out
    assert "rouge-l.f1" in out
    assert "±" in out
    assert "rouge|as:1.5.5|" in out
    assert "bootstrap:1000|confidence:0.95|seed:1" in out


def test_score_as_json_has_values_error_bars_and_examples(files, capsys):
    result = report(capsys, "score", files("hyp"), files("ref"), "--json", "--per-example")
    assert result["examples"] == 3
    assert result["scores"]["rouge-1.recall"]["value"] == pytest.approx((4 / 5 + 1 + 0) / 3)
    assert result["scores"]["rouge-1.recall"]["standard_error"] > 0
    assert [row["rouge-l.f1"] for row in result["per_example"]] == pytest.approx([0.8, 1.0, 0.0])


def test_a_line_ends_at_a_line_feed_and_drops_one_carriage_return(tmp_path):
    (tmp_path / "lines").write_bytes("a\r\nb\r\r\n\n\u2028c\x0c\rd".encode())
    assert read_lines(str(tmp_path / "lines")) == ["a", "b\r", "", "\u2028c\x0c\rd"]


def test_a_shells_pipe_is_read_and_a_pipe_with_nobody_at_its_end_is_not(tmp_path):
    reading, writing = os.pipe()
    os.write(writing, b"a line\n")
    os.close(writing)
    assert read_lines(f"/dev/fd/{reading}") == ["a line"]
    os.close(reading)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="is a pipe or a device"):
        read_lines(str(tmp_path / "pipe"))


def test_score_reads_standard_input_and_dos_lines(files, capsys, monkeypatch):
    expected = report(capsys, "score", files("hyp"), files("ref"), "--json")
    assert report(capsys, "score", files("dos"), files("ref"), "--json") == expected
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(HYP.encode())))
    assert report(capsys, "score", "-", files("ref"), "--json") == expected


@pytest.mark.parametrize("metric", ["coco", "bleu", "chrf", "ter"])
def test_other_metrics_take_several_references(files, capsys, metric):
    result = report(capsys, "score", "--metric", metric, files("hyp"), files("other"), files("ref"), "--json")
    assert result["signature"].startswith(f"{metric}|")


def test_options_and_presets_reach_the_signature(files, capsys):
    result = report(capsys, "score", files("hyp"), files("ref"), "--preset", "pyrouge", "--json")
    assert "rouge-su|stem:porter-wordnet|bytes:all" in result["signature"]
    options = ("--stem", "--bytes", "9", "--multi", "best", "--rouge", "rouge-2", "--resamples", "20", "--seed", "3")
    result = report(capsys, "score", files("hyp"), files("ref"), *options, "--json")
    assert "metrics:rouge-2|stem:porter-wordnet|bytes:9|multi:best" in result["signature"]
    assert "bootstrap:20|confidence:0.95|seed:3" in result["signature"]


def test_duc2004_shows_recall_and_notes_missing_references(files, capsys):
    assert main(["score", files("hyp"), files("ref"), "--preset", "duc2004"]) == 0
    captured = capsys.readouterr()
    assert "rouge-1.recall" in captured.out
    assert "rouge-1.f1" not in captured.out
    assert "bytes:75" in captured.out
    assert "DUC-2004 has 4 references" in captured.err


def test_a_sentence_break_makes_sentences(tmp_path, capsys):
    (tmp_path / "h").write_text("sat down<q>the cat\n")
    (tmp_path / "r").write_text("the cat sat down\n")
    paths = str(tmp_path / "h"), str(tmp_path / "r")
    assert report(capsys, "score", *paths, "--json")["scores"]["rouge-l.recall"]["value"] == 0.5
    broken = report(capsys, "score", *paths, "--sentence-break", "<q>", "--json")
    assert broken["scores"]["rouge-l.recall"]["value"] == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("hyp", "missing"), "cannot read"),
        (("hyp", "short"), "3 lines but"),
        (("latin", "ref"), "line 2: byte 4 is not UTF-8"),
        (("none", "none"), "has no lines"),
        (("hyp", "ref", "--metric", "coco", "--stem"), "--stem is an option of --metric rouge"),
        (("hyp", "ref", "--rouge", "rouge-9"), "must be different ones of"),
        (("hyp", "ref", "--bytes", "0"), "at least 1"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_2(files, capsys, arguments, message):
    named = [files(argument) if not argument.startswith("-") and index < 2 else argument
             for index, argument in enumerate(arguments)]  # fmt: skip
    assert main(["score", *named]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_compare_gives_scores_interval_p_values_and_what_moved(files, capsys):
    arguments = "compare", files("hyp"), files("other"), "--references", files("ref")
    result = report(capsys, *arguments, "--json")
    score = result["scores"]["rouge-l.f1"]
    assert score["difference"]["value"] == pytest.approx(score["a"]["value"] - score["b"]["value"])
    assert 0 < score["p_bootstrap"] <= 1
    assert 0 < score["p_randomisation"] <= 1
    assert [example["example"] for example in result["moved"]] == [2, 1]
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert "A - B" in out
    assert "the cat sat" in out


def test_compare_gives_p_at_its_floor_as_a_bound(tmp_path, capsys):
    texts = [f"one two three {number}" for number in range(30)]
    for name, lines in (("a", texts), ("b", ["four"] * 30)):
        (tmp_path / name).write_text("".join(line + "\n" for line in lines))
    a, b = (str(tmp_path / name) for name in ("a", "b"))
    for resamples, bound in ((1000, "≤ 0.001 "), (200, "≤ 0.005 "), (20_000, "≤ 0.00005 ")):
        assert main(["compare", a, b, "--references", a, "--moved", "0", "--resamples", str(resamples)]) == 0
        row = next(line for line in capsys.readouterr().out.splitlines() if "rouge-l.f1" in line)
        assert row.count(bound) == 2
    assert main(["compare", a, a, "--references", b, "--moved", "0"]) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if "rouge-l.f1" in line)
    assert row.split()[-2:] == ["1.00", "1.00"]


def test_scoring_needs_no_torch():
    import subprocess

    code = "import sys, bangbang.metrics, bangbang.cli.score; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
