"""What a newcomer mistypes or misunderstands: one line that names the place and the way out, and nothing is lost."""

import json
import shlex
import shutil
from pathlib import Path

import pytest

from bangbang.cli.main import main


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one line that is said of a command that must be refused."""
    capsys.readouterr()
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1, captured
    return captured.err


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with what is mistaken for something else."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.jsonl").write_text(json.dumps({"source": "one two", "target": "one"}) + "\n")
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "index").write_text("")
    (tmp_path / "good.toml").write_text("[training]\nmax_steps = 3\n")
    (tmp_path / "folder").mkdir()
    run = tmp_path / "begun"  # a training that was stopped before its first checkpoint
    run.mkdir()
    (run / "config.toml").write_text("")
    (tmp_path / "trained" / "checkpoints").mkdir(parents=True)
    one = tmp_path / "study" / "runs" / "mle-seed1"  # what `bangbang reproduce` makes
    one.mkdir(parents=True)
    for folder in (one, tmp_path / "study"):
        (folder / "config.toml").write_text("")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "message"),
    [
        # a setting and its value with a blank between them: the setting is to blame, not the value
        ("train good.toml --out x --set training.max_steps 3", "training.max_steps: expected table.key=value, such as"),
        ("data pairs.jsonl --set size", "--set: size: expected table.key=value, such as vocabulary.size=500"),
        ("reproduce headlines --dry-run --set objective", "expected table.key=value, such as training.max_steps=500"),
        # a table instead of its kind
        ("train good.toml --out x --set objective=mle", "such as objective.kind=mle"),
        ("train good.toml --out x --set data=debian", "such as data.corpus=debian"),
        # a folder, a run, a corpus instead of a config
        ("train folder --out x", "folder: is a folder, not a config file"),
        ("train begun --out x", "is a folder, not a config file; did you mean 'begun/config.toml'?"),
        ("train pairs.jsonl --out x", "pairs.jsonl: not a config, which is TOML in UTF-8"),
        ("train --resume --out folder", "folder: nothing to go on with: not a run (no config.toml)"),
        ("train --resume --out begn", "did you mean 'begun'?"),
        # what was read is named as it was typed
        ("data empty.jsonl", "empty.jsonl: no usable pair in train, as nothing is in it"),
        ("data pairs.jsonl", "pairs.jsonl: 1 pairs are too few"),
        ("data docstrings --path folder", "folder: no usable pair in train"),
        ("data debian --path index", "index: not a Translation-en index: no package in its 0 lines"),
        ("data ./pair.jsonl", "no such file or folder; did you mean 'pairs.jsonl'?"),
        ("evaluate begun", "begun: no checkpoint yet; train it with `bangbang train --resume --out begun`"),
        # what should be read by standard input
        ("generate begun pairs.jsonl", "standard input: bangbang generate begun < pairs.jsonl"),
        ("generate begun words", "'words' is no run; texts are read from standard input"),
        # places that cannot be written, before anything is computed
        ("explain begun --html none/page.html", "none/page.html: cannot be written"),
        ("explain begun --html folder", "folder: is a folder; name a file"),
        ("explain begun --samples 3", "--samples is for what --targets shows; add --targets"),
        ("explain begun --weight 3", "--weight is for what --targets shows; add --targets"),
        ("train good.toml --out x --end-with-parent -1", "--end-with-parent: must be at least 1"),
        # what trainings of hours would end with, or never tell
        ("reproduce headlines --decoders greedy bean", "--decoders bean: unknown; choose among greedy, beam"),
        ("reproduce headlines --set training.seed=3", "--set training.seed=3: is chosen by --seeds, for each row"),
        ("reproduce headlines --set objective.kind=rloo", "objective.kind=rloo: is chosen by --methods, for each row"),
        ("reproduce headlines --out trained", "trained: is a run; choose another --out, in which runs/ will be"),
        # the folder of several runs instead of one of them
        ("explain study", "such as study/runs/mle-seed1"),
        ("serve study", "study: not a run, but what `bangbang reproduce` makes; its runs are in runs/"),
        ("report begun begun --label MLE ''", "--label: a name is empty"),
        # sizes of nothing
        ("bench step --vocab 0", "--vocab: must be at least 16"),
        ("bench step --batch 0", "--batch: must be at least 1"),
        ("bench hf --repeats -1", "--repeats: must be at least 1"),
    ],
)
def test_mistakes(words: str, message: str, desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(desk.rglob("*"))
    assert message in refused(shlex.split(words), capsys)
    made = set(desk.rglob("*")) - set(before)
    assert not [path for path in made if not path.is_relative_to(desk / "corpora")]


def test_a_corpus_that_is_not_there_names_those_that_are(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "; those built in are docstrings, debian, debian-translations, shapes" in refused(["data", "x"], capsys)
    assert "; did you mean 'folder'?" in refused(["data", "foldr"], capsys)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--temperature 0.5", "--temperature changes nothing where the method is greedy; ask for --method sample or"),
        ("--top-k 3 --beam 2", "--top-k changes nothing where the method is beam"),
        ("--top-p 0.5", "--top-p changes nothing"),
        ("--length-penalty 0.5", "--length-penalty changes nothing where the method is greedy; ask for --beam K or"),
        ("--method greedy --beam 4", "--beam changes nothing where the method is greedy"),
        ("--method sample --mbr 4", "--mbr changes nothing where the method is sample"),
        ("--utility rouge-l", "--utility changes nothing where the method is greedy; ask for --mbr N"),
    ],
)
def test_options_that_would_change_nothing(
    tiny_run: Path, options: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in refused(["evaluate", str(tiny_run), *options.split()], capsys)


def test_a_run_folder_that_is_taken_is_told_before_the_corpus_is_made(
    tiny_run: Path, tiny_config: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("bangbang.training.loop.prepare")
    told = refused(["train", str(tiny_config), "--out", str(tiny_run)], capsys)
    assert "holds a run already; add --resume" in told


def test_features_that_cannot_be_kept_are_told_before_any_is_computed(
    shapes_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("bangbang.features.extraction.encode")
    (tmp_path / "file").write_text("")
    scenes, place = str(shapes_run.parent / "scenes"), str(tmp_path / "file" / "features")
    told = refused(["features", scenes, "-o", place, "--encoder", "untrained"], capsys)
    assert f"{place}: cannot be written; {tmp_path / 'file'} is not a folder" in told


def test_one_bad_picture_is_one_line(shapes_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = refused(["generate", str(shapes_run), "--image", "none.jpg"], capsys)
    assert "1 of 1 images left out: none.jpg: no such file" in told


def test_a_page_and_json_are_both_written(shapes_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture, page = tmp_path / "a.png", tmp_path / "page.html"
    shutil.copy(next((shapes_run.parent / "scenes").glob("*.png")), picture)
    assert main(["generate", str(shapes_run), "--image", str(picture), "--html", str(page), "--json"]) == 0
    (record,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert record["image"] == str(picture) and page.is_file()
