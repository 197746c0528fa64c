"""The command line's frame: help, unknown verbs, and one-line errors with exit code 2."""

import json
from pathlib import Path

import pytest

from bangbang.cli.main import VERBS, main


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_examples(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([verb, "--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    assert "examples:" in text and f"bangbang {verb} " in text


def test_help_names_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(verb in text for verb in VERBS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fly"], "unknown verb 'fly'; the verbs are data,"),
        (["trian"], "unknown verb 'trian'; did you mean 'train'?"),
        (["train", "configs/headlines-debain.toml", "--out", "x"], "did you mean 'configs/headlines-debian.toml'?"),
        (["train", "configs/headlines-debian", "--out", "x"], "did you mean 'configs/headlines-debian.toml'?"),
        (["train", "headlines-debian.toml", "--out", "x"], "did you mean 'configs/headlines-debian.toml'?"),
        (["evaluate", "configs/headlines-debian.toml"], "not a run, but a config; train it with `bangbang train"),
        (["evaluate", "README.md"], "not a run, but a file"),
        (["explain", "x", "--exmple", "3"], "unrecognized arguments: --exmple 3; did you mean '--example'?"),
        (["reproduce", "headline"], "did you mean 'headlines'?"),
        (["score", "--metric", "rogue", "a", "b"], "did you mean 'rouge'?"),
        (["plugins", "objective"], "no such group; did you mean 'objectives'?"),
        (["plugins", "objectives", "bbpsg"], "; did you mean 'bbspg'?"),
        (["generate", "x", "--temperature", "0,6"], "invalid float value: '0,6'; did you mean 0.6?"),
        (["generate", "x", "--beam", "1,000"], "did you mean 1000?"),
        (["reproduce", "headlines", "--seeds", "1,2"], "got '1,2'; several stand apart: 1 2"),
        (["train", "none.toml", "--out", "x"], "no such config file"),
        (["train", "--out", "x"], "a config file is needed"),
        (["train", "--resume", "--out", "nowhere"], "nowhere: nothing to go on with: not a run (no config.toml)"),
        (["evaluate", "nowhere"], "not a run"),
        (["generate", "nowhere"], "not a run"),
    ],
)
def test_bad_calls_get_one_line_and_exit_code_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("bangbang: error: ") and message in error and error.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--split", "none"], "none"),
        (["--checkpoint", "9"], "no checkpoint '9'"),
        (["--beam", "0"], "decoding.beam_size must be at least 1"),
        (["--method", "sample", "--top-p", "0"], "decoding.top_p"),
        (["--mbr", "0"], "decoding.mbr_samples must be at least 1"),
        (["--utility", "rouge-l"], "ask for --mbr N"),
        (["--mbr", "4", "--utility", "rouge-x"], "decoding.utility = 'rouge-x' is no reward and no score of a metric"),
        (["--mbr", "4", "--utility", "cider"], "decoding.utility = 'cider': has no increments"),
    ],
)
def test_bad_evaluation_options(
    tiny_run: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", str(tiny_run), *options]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_evaluate_prints_scores_beside_the_baseline(tiny_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(tiny_run), "--split", "test", "--json", "--side-by-side"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["examples"] == 20 and result["signature"].startswith("rouge|")
    risk = "mbr 32 rouge-l T=0.6"
    systems = ["greedy", "greedy +DUP", "beam 4", "beam 4 +DUP", risk, f"{risk} +DUP", "lead 5 words"]
    assert list(result["scores"]) == systems
    assert result["scores"]["greedy +DUP"]["rouge-l"]["value"] > result["scores"]["lead 5 words"]["rouge-l"]["value"]


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (["--mbr", "8"], "mbr 8 rouge-l T=0.6 +DUP"),
        (["--method", "mbr", "--mbr", "5", "--beam", "3", "--no-dup"], "mbr 5 +beam 3 rouge-l T=0.6"),
        (["--mbr", "5", "--utility", "chrf", "--temperature", "1", "--top-k", "3"], "mbr 5 chrf T=1 top-k=3 +DUP"),
    ],
)
def test_minimum_bayes_risk_by_options(
    tiny_run: Path, options: list[str], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", str(tiny_run), "--json", "--limit", "4", *options]) == 0
    result = json.loads(capsys.readouterr().out)
    assert list(result["decoding"]) == [name] and next(iter(result["scores"])) == name
    assert result["decoding"][name]["method"] == "mbr"


def test_evaluate_writes_outputs(tiny_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "outputs.txt"
    assert main(["evaluate", str(tiny_run), "--split", "valid", "--out", str(out), "--samples", "2"]) == 0
    assert len(out.read_text().splitlines()) == 20
    text = capsys.readouterr().out
    assert text.count("output  ") == 2 and "rouge-l" in text


@pytest.mark.parametrize("name", ["missing/outputs.txt", "file/outputs.txt", "folder"])
def test_outputs_that_cannot_be_written_are_named_before_anything_is_decoded(
    tiny_run: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("bangbang.training.evaluation.decode_run")
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    assert main(["evaluate", str(tiny_run), "--limit", "2", "--out", str(tmp_path / name)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"bangbang: error: {tmp_path / name}: ") and error.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_bench_train_step(capsys: pytest.CaptureFixture[str]) -> None:
    shape = ["--batch", "2", "--units", "8", "--vocabulary", "50", "--source-length", "3", "--target-length", "3"]
    assert main(["bench", "train-step", *shape, "--repeats", "2", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert 0 < result["bound_share"] < 1


def test_compare_two_runs(tiny_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(tiny_run), str(tiny_run), "--split", "valid", "--limit", "7", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["examples"] == 7
    assert all(score["difference"]["value"] == 0 for score in result["scores"].values())


def test_compare_needs_two_of_a_kind(tiny_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(tiny_run), str(tiny_run / "config.toml")]) == 2
    assert "two run folders or two files" in capsys.readouterr().err
    assert main(["compare", str(tiny_run / "config.toml"), str(tiny_run / "config.toml")]) == 2
    assert "--references" in capsys.readouterr().err
