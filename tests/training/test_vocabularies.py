"""Runs whose sources have a vocabulary of their own, and runs by a tokenizer from elsewhere: every verb, end to end."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from bangbang import config as configs
from bangbang.cli.main import main
from bangbang.data import Corpus, load_vocabulary
from bangbang.errors import InputError
from bangbang.models.attention_gru import AttentionGru
from bangbang.training import Run
from tests.cli.test_generate import generate
from tests.conftest import TINY_CONFIG, sentence
from tests.tokenizer_files import byte_level, written
from tests.training.test_loop import weights

SOURCE, _ = sentence(3)
OWN = """
[vocabulary]
kind = "bpe"
size = 320

[source_vocabulary]
kind = "word"
size = 50
"""
GIVEN = """
[vocabulary]
kind = "tokenizer"
file = {file}
"""


def config_file(corpus: Path, folder: Path, tables: str) -> Path:
    path = folder / "config.toml"
    path.write_text(TINY_CONFIG.format(corpus=corpus, cache=folder / "cache", steps=20) + tables)
    return path


@pytest.fixture(scope="module")
def own_run(tiny_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Words for sources, pieces for targets."""
    folder = tmp_path_factory.mktemp("own")
    assert main(["train", str(config_file(tiny_corpus, folder, OWN)), "--out", str(folder / "run")]) == 0
    return folder / "run"


@pytest.fixture(scope="module")
def given_run(tiny_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("given")
    tokenizer = byte_level(texts=[text for number in range(200) for text in sentence(number)], size=320)
    tables = GIVEN.format(file=json.dumps(str(written(folder / "tokenizer.json", tokenizer))))
    bang_bang = ["--set", "objective.kind=bbspg"]
    config = config_file(tiny_corpus, folder, tables)
    assert main(["train", str(config), "--out", str(folder / "run"), *bang_bang]) == 0
    return folder / "run"


@pytest.fixture(params=["own_run", "given_run"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of either run."""
    return Path(shutil.copytree(request.getfixturevalue(request.param), tmp_path / "run"))


def test_each_side_has_its_own_ids(own_run: Path) -> None:
    run, corpus = Run.open(own_run), Run.open(own_run).corpus()
    assert corpus.source_vocabulary is not None and run.source_vocabulary is not None
    assert (len(run.vocabulary), len(run.source_vocabulary)) == (320, 50)
    assert corpus.manifest["vocabulary_size"] == 320 and corpus.manifest["source_vocabulary_size"] == 50
    train = corpus.split("train")
    batch = train.batch(train.spread(50))
    assert batch.source.max() < 50 <= batch.target.max()
    text, target = train.sources(slice(0, 1))[0], train.references(slice(0, 1))[0][0]
    limit = run.config.data.max_source_length
    assert train.source_ids(slice(0, 1)) == [corpus.source_vocabulary.encode(text)[:limit]]
    assert run.encode_sources([text]) == train.source_ids(slice(0, 1))
    assert corpus.source_vocabulary.encode(target) != corpus.vocabulary.encode(target)
    words = set(corpus.source_vocabulary.texts())
    assert "package" in words and "the" not in words  # which is in targets alone
    assert not any("package" in piece for piece in corpus.vocabulary.texts())  # targets alone trained the pieces
    model = run.build_model()
    assert isinstance(model, AttentionGru) and model.source_words is not None
    assert model.source_words.weight.shape == (50, 16) and model.head.size == 320


def test_a_source_id_beyond_its_own_vocabulary_is_refused(own_run: Path, tmp_path: Path) -> None:
    """Though the targets' vocabulary would have room for it."""
    folder = Path(shutil.copytree(Run.open(own_run).corpus().folder, tmp_path / "corpus"))
    manifest = json.loads((folder / "corpus.json").read_text())
    texts = [sentence(number)[0] for number in range(3)]
    configs.Config().vocabulary.build(texts).save(folder / "source_vocabulary.json")
    smaller = len(load_vocabulary(folder / "source_vocabulary.json"))
    assert smaller < 50
    (folder / "corpus.json").write_text(json.dumps({**manifest, "source_vocabulary_size": smaller}))
    split = Corpus.open(folder).split("train")
    with pytest.raises(InputError, match="outside the vocabulary"):
        split.batch(split.spread(100))


def test_every_verb(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(run), "--split", "test"]) == 0
    capsys.readouterr()
    one, other = generate(run, f"{SOURCE}\n{SOURCE}\n".encode(), capsys=capsys)
    assert one == other and not any(token in one for token in ("<|endoftext|>", "</s>", "Ġ"))
    assert main(["explain", str(run), "--example", "3", "--json"]) == 0
    assert main(["report", str(run), "--out", str(tmp_path / "report")]) == 0
    assert (run / "test.json").is_file() and "error" not in capsys.readouterr().err


def test_resumed_equals_uninterrupted(run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "again"
    assert main(["train", str(run / "config.toml"), "--out", str(folder), "--set", "training.max_steps=8"]) == 0
    assert main(["train", "--resume", "--out", str(folder), "--set", "training.max_steps=20"]) == 0
    assert weights(folder, 20) == weights(run, 20)


def test_a_run_may_start_from_another(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def start(*options: str) -> int:
        arguments = ["--init", str(run), "--set", "training.max_steps=1", "--set", "training.seed=2", *options]
        return main(["train", str(run / "config.toml"), "--out", str(tmp_path / "warm"), *arguments])

    other = ["--set", f"data.cache={tmp_path / 'cache'}", "--set", "source_vocabulary.kind=word"]
    assert start(*other, "--set", "source_vocabulary.size=40") == 2
    assert "its vocabulary differs" in capsys.readouterr().err
    shutil.rmtree(tmp_path / "warm")
    assert start() == 0
    warm, cold = Run.open(tmp_path / "warm").load_model("1"), Run.open(run).load_model()
    close = [
        torch.allclose(one, other, atol=0.1) for one, other in zip(warm.parameters(), cold.parameters(), strict=True)
    ]
    assert all(close)


def swapped(run: Path) -> None:
    one, other = run / "vocabulary.json", run / "source_vocabulary.json"
    content = one.read_text()
    one.write_text(other.read_text())
    other.write_text(content)


def other_words(run: Path) -> None:
    configs.read(run / "config.toml").vocabulary.build([SOURCE] * 9).save(run / "source_vocabulary.json")


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda run: (run / "source_vocabulary.json").unlink(), "source_vocabulary.json: no such vocabulary"),
    "swapped": (swapped, "made with another vocabulary than .*/vocabulary.json"),
    "another": (other_words, "made with another vocabulary than .*/source_vocabulary.json"),
}


@pytest.mark.parametrize("case", DAMAGES)
def test_a_missing_or_other_source_vocabulary_is_an_error(own_run: Path, case: str, tmp_path: Path) -> None:
    run = Path(shutil.copytree(own_run, tmp_path / "run"))
    damage, message = DAMAGES[case]
    damage(run)
    with pytest.raises(InputError, match=message):
        Run.open(run).load_model()
    assert main(["train", "--resume", "--out", str(run), "--set", "training.max_steps=22"]) == 2


def test_a_missing_or_swapped_file_of_a_corpus_is_an_error(own_run: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(Run.open(own_run).corpus().folder, tmp_path / "corpus"))
    swapped(folder)
    with pytest.raises(InputError, match=r"vocabulary.json: 50 tokens instead of 320; remove"):
        Corpus.open(folder).split("train")
    swapped(folder)
    (folder / "source_vocabulary.json").unlink()
    with pytest.raises(InputError, match=r"source_vocabulary.json: no such vocabulary"):
        Corpus.open(folder).split("train")
    manifest = json.loads((folder / "corpus.json").read_text())
    (folder / "corpus.json").write_text(json.dumps({**manifest, "source_vocabulary_size": "50"}))
    with pytest.raises(InputError, match=r"damaged \(source_vocabulary_size\)"):
        Corpus.open(folder)


def test_data_shows_both_sizes(own_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", str(own_run / "config.toml"), "--set", f"data.cache={own_run.parent / 'cache'}"]) == 0
    shown = capsys.readouterr().out
    assert "vocabulary: 320 types\n" in shown and "vocabulary of the sources: 50 types\n" in shown


def test_captions_have_no_source_vocabulary(shapes_config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = ["--set", "source_vocabulary.kind=word"]
    assert main(["train", str(shapes_config), "--out", str(shapes_config.parent / "none"), *own]) == 2
    assert capsys.readouterr().err.strip().count("\n") == 0
    with pytest.raises(
        InputError, match=r"source_vocabulary: model\.kind = .* reads features, not texts; leave it out"
    ):
        configs.read(shapes_config, ["source_vocabulary.kind=word"])


def test_a_run_by_a_tokenizer_needs_its_file_no_more(given_run: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(given_run, tmp_path / "run"))
    path = run / "config.toml"
    path.write_text(path.read_text().replace("tokenizer.json", "gone.json"))
    opened = Run.open(run)
    assert opened.vocabulary.decode(opened.vocabulary.encode(SOURCE)) == SOURCE and opened.load_model()
    assert main(["evaluate", str(run), "--split", "valid"]) == 0


def test_another_tokenizer_makes_another_corpus(given_run: Path, tmp_path: Path) -> None:
    from bangbang.data import prepare

    config = Run.open(given_run).config
    first = prepare(config.data, config.vocabulary, progress=False)
    other = written(tmp_path / "tokenizer.json", byte_level())
    tables = configs.override(config, [f"vocabulary.file={json.dumps(str(other))}"])
    assert prepare(config.data, tables.vocabulary, progress=False).folder != first.folder
    assert first.folder == Run.open(given_run).corpus().folder


def test_a_hostile_copy_in_a_run_is_refused(given_run: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(given_run, tmp_path / "run"))
    path = run / "vocabulary.json"
    table = json.loads(path.read_text())
    table["tokenizer"]["pre_tokenizer"] = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated"}
    path.write_text(json.dumps(table))
    with pytest.raises(InputError, match=r"vocabulary\.json: its pre_tokenizer Split has a regular expression"):
        Run.open(run)
