"""Links that a stranger has put where something will be written: nothing that they point to is changed.

Each file and folder that a command writes is in turn a link, to a file or folder outside or to a name there that is not
taken. The command may fail with exit code 2, or work; what is outside stays as it was, byte by byte.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bangbang import config as configs
from bangbang import files, folders
from bangbang.cli.main import main
from bangbang.corpora.settings import Files
from bangbang.data import prepare
from bangbang.data.corpus import MANIFEST
from bangbang.data.raw import RawFile
from bangbang.data.settings import Words
from bangbang.errors import InputError
from bangbang.features import extract, open_encoder
from bangbang.locks import locked
from tests.conftest import TINY_CONFIG, sentence
from tests.features.pictures import save_pictures

PRECIOUS = "precious", "album/photo", "album/.hidden", "train/data-00000-of-00001.arrow.json"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """What is not the stranger's: a folder with files, one of which has a name that is ours to remove."""
    folder = tmp_path / "outside"
    for name in PRECIOUS:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{name}: precious\n")
    return folder


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def content(folder: Path) -> dict[str, object]:
    """All that is below a folder: files, where links point to, and who may do what."""
    return {
        str(path.relative_to(folder)): (
            path.lstat().st_mode,
            path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else "",
        )
        for path in sorted(folder.rglob("*"))
    }


def plant(place: Path, target: Path) -> None:
    """A link at a place, in folders of its own."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target)


def targets(outside: Path, place: Path) -> Iterator[Path]:
    """What a link may point to."""
    yield outside / ("precious" if place.suffix or place.name == ".lock" else "album")
    yield outside / "train" if place.name == "train" else outside / "not taken"


def pairs(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [dict(zip(("source", "target"), sentence(number), strict=True)) for number in range(200)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def stranger(tiny_run: Path, work: Path) -> Path:
    """A stranger's run folder, as it lies in the working folder. It names a corpus and a cache within itself."""
    run = work / "theirs"
    shutil.copytree(tiny_run, run, ignore=shutil.ignore_patterns("test.json"))  # another test may have kept one
    corpus = pairs(run / "pairs.jsonl").relative_to(work)
    text = TINY_CONFIG.format(corpus=corpus, cache="theirs/cache", steps=1)
    (run / "config.toml").write_text(text)
    (run / "corpus.json").write_text(json.dumps({"folder": "gone", "fingerprint": "0"}))
    return run


@pytest.fixture
def growing(stranger: Path, tmp_path: Path) -> Path:
    """Where the corpus that this config describes grows; whoever made the run can work it out."""
    config = configs.read(stranger / "config.toml")
    made = prepare(replace(config.data, cache=str(tmp_path / "cache")), config.vocabulary, progress=False)
    return stranger / "cache" / f".{made.folder.name}.growing"


VERBS = {
    "evaluate": ["evaluate", "theirs"],
    "explain": ["explain", "theirs"],
    "compare": ["compare", "theirs", "theirs"],
    "report": ["report", "theirs"],
    "tune": ["tune", "theirs", "--beams", "1", "--mbr"],
    "train": ["train", "theirs/config.toml", "--out", "mine"],
    "resume": ["train", "--resume", "--out", "theirs"],
    "data": ["data", "theirs/config.toml"],
}
ATTACKS = {
    "a raw file": lambda cache, growing: growing / "train.raw",
    "the folder it grows in": lambda cache, growing: growing,
    "the cache": lambda cache, growing: cache,
}


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("verb", VERBS)
def test_a_strangers_links_lead_nowhere(
    stranger: Path, growing: Path, outside: Path, verb: str, attack: str, capsys: pytest.CaptureFixture[str]
) -> None:
    plant(ATTACKS[attack](stranger / "cache", growing), outside / ("precious" if "file" in attack else "album"))
    before, theirs = content(outside), content(stranger)
    assert main(VERBS[verb]) in (0, 2)
    assert content(outside) == before
    if verb in ("evaluate", "explain", "compare", "report", "tune"):
        assert "--cache FOLDER" in capsys.readouterr().err
        assert content(stranger) == theirs


@pytest.mark.parametrize("verb", ["evaluate", "explain", "compare", "report", "tune"])
def test_a_run_that_is_read_makes_nothing_by_its_own_word(
    tiny_run: Path, tiny_corpus: Path, work: Path, verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = work / "theirs"
    shutil.copytree(tiny_run, run, ignore=shutil.ignore_patterns("test.json"))  # another test may have kept one
    facts = json.loads((run / "corpus.json").read_text())
    (run / "corpus.json").write_text(json.dumps({**facts, "folder": "gone"}))
    text = (run / "config.toml").read_text()
    own = f'cache = "{tiny_corpus.parent / "cache"}"'
    assert own in text
    (run / "config.toml").write_text(text.replace(own, 'cache = "theirs/cache"'))
    before = content(work)
    assert main(VERBS[verb]) == 2
    assert "--cache FOLDER" in capsys.readouterr().err and content(work) == before
    assert main([*VERBS[verb], "--cache", "mine"]) == 0
    made = set(content(work)) - set(before)
    assert {name.split("/")[0] for name in made} <= {"mine", "report", "theirs"}
    kept = {"report": {"theirs/test.json"}, "tune": {"theirs/tuned.json"}}.get(verb, set())
    assert {name for name in made if name.startswith("theirs")} == kept
    # the default is a folder of the user's, which no run chooses
    (run / "config.toml").write_text(text.replace(own, f'cache = "{Files.cache}"'))
    (run / "test.json").unlink(missing_ok=True)
    assert main(VERBS[verb]) == 0
    assert list((work / Files.cache).glob(f"*/{MANIFEST}"))


def made_by(folder: Path, make: Callable[[], object]) -> list[Path]:
    """The files and folders that come to be in a folder."""
    make()
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if not path.name.startswith("events."))


def check_each(folder: Path, places: list[Path], outside: Path, make: Callable[[], object]) -> None:
    """Put a link at each place in turn, nothing else being there, and make all again."""
    assert places
    before = content(outside)
    for place in places:
        for target in targets(outside, place):
            shutil.rmtree(folder)
            plant(folder / place, target)
            try:
                code = make()
            except InputError as error:
                code = 2
                assert str(error)
            assert code in (None, 0, 2), place
            assert content(outside) == before, place


def test_no_place_in_a_corpus_that_grows_is_followed(work: Path, outside: Path) -> None:
    cache = work / "cache"
    data = Files(corpus=str(pairs(work / "pairs.jsonl")), cache="cache")

    def make() -> None:
        prepare(data, Words(), progress=False)

    finished = made_by(cache, make)
    name = finished[0]
    growing = Path(f".{name}.growing")
    inner = [growing / place.relative_to(name) for place in finished]
    inner += [growing / one for one in ("reading.json", ".lock", "train.raw", "valid.raw", "test.raw")]
    arrows = [place for place in inner if place.suffix == ".arrow"]
    inner += [place.with_suffix(end) for place in arrows for end in (".draft", ".arrow.json")]
    assert len(arrows) == 3 and len(inner) > 20
    check_each(cache, [*finished, *inner], outside, make)


def test_no_place_in_a_run_is_followed(work: Path, outside: Path, tiny_corpus: Path) -> None:
    text = TINY_CONFIG.format(corpus=tiny_corpus, cache="corpora", steps=1)
    Path("config.toml").write_text(text)

    def make() -> int:
        return main(["train", "config.toml", "--out", "run", "--resume"])

    places = made_by(work / "run", make)
    assert len(places) > 10 and Path(".lock") in places
    check_each(work / "run", places, outside, make)


def test_no_place_in_a_report_is_followed(tiny_run: Path, work: Path, outside: Path) -> None:
    shutil.copytree(tiny_run, "run", ignore=shutil.ignore_patterns("test.json"))

    def make() -> int:
        return main(["report", "run", "--out", "report"])

    places = made_by(work / "report", make)
    assert len(places) == 4
    check_each(work / "report", places, outside, make)
    before = content(outside)
    Path("run/test.json").unlink()
    Path("run/test.json").symlink_to(outside / "precious")
    assert main(["report", "run", "--out", "report"]) == 2
    assert content(outside) == before


def test_no_place_in_a_table_of_features_is_followed(work: Path, outside: Path) -> None:
    save_pictures(work / "photos", 3)

    def make() -> None:
        extract(Path("photos"), Path("table"), open_encoder("untrained"))

    places = made_by(work / "table", make)
    part = Path("parts/part-00000")
    inner = [part.parent, part, *(part / place for place in places)]
    check_each(work / "table", [*places, *inner], outside, make)


@pytest.mark.parametrize("place", ["../outside/empty", "link", "link/new"])
@pytest.mark.parametrize("key", ["path", "cache"])
def test_scenes_are_not_drawn_where_a_config_says(
    work: Path, outside: Path, place: str, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (outside / "empty").mkdir()
    (work / "link").symlink_to(outside / "empty")
    Path("config.toml").write_text(f'[data]\ncorpus = "shapes"\n{key} = "{place}"\n')
    before = content(outside)
    assert main(["data", "config.toml"]) == 2
    assert f"--set data.{key}={place}" in capsys.readouterr().err
    assert content(outside) == before


def test_the_users_own_links_are_followed(work: Path, tmp_path: Path, tiny_corpus: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    for name in ("runs", "corpora"):
        (disk / name).mkdir()
        Path(name).symlink_to(disk / name)
    Path("config.toml").write_text(TINY_CONFIG.format(corpus=tiny_corpus, cache="corpora", steps=1))
    command = ["train", "config.toml", "--out", "runs/a"]
    assert main(command) == 2  # by the config alone, not even what is called as the default
    assert main([*command, "--set", "data.cache=corpora"]) == 0
    assert (disk / "runs" / "a" / "metrics.jsonl").is_file() and list((disk / "corpora").iterdir())
    assert main(["evaluate", "runs/a", "--out", "runs/outputs.txt"]) == 0
    assert (disk / "runs" / "outputs.txt").is_file()
    assert main(["report", "runs/a", "--out", "runs/report"]) == 0
    assert (disk / "runs" / "report" / "report.html").is_file() and (disk / "runs" / "a" / "test.json").is_file()


OPERATIONS: dict[str, Callable[[Path], object]] = {
    "write_whole": lambda folder: files.write_whole(folder / "precious", "mine"),
    "new_file": lambda folder: files.new_file(folder / "precious").close(),
    "append": lambda folder: print("mine", file=files.append_file(folder / "precious"), flush=True),
    "make_folder": lambda folder: files.make_folder(folder / "new"),
    "whole_folder": lambda folder: files.whole_folder(folder / "album", replace=True).__enter__(),
    "publish": lambda folder: files.publish(folder / "album", folder / "other"),
    "move": lambda folder: files.move(folder / "precious", folder / "other"),
    "remove": lambda folder: files.remove(folder / "album"),
    "remove_folder": lambda folder: files.remove_folder(folder / "album"),
    "raw": lambda folder: RawFile(folder / "precious").close(),
    "lock": lambda folder: locked(folder).__enter__(),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_link_put_there_between_look_and_use_is_not_followed(
    work: Path, outside: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is changed for a link to `outside` as soon as it is open: the work is done in the folder as it was."""
    shutil.copytree(outside, "theirs")
    before, real = content(outside), folders.enter

    def changed(outer: int, path: Path, make: bool) -> int:
        descriptor = real(outer, path, make)
        if path == Path("theirs") and not path.is_symlink():
            path.rename("moved")
            path.symlink_to(outside)
        return descriptor

    monkeypatch.setattr(folders, "enter", changed)
    moved = content(work / "theirs")
    try:
        OPERATIONS[name](Path("theirs"))
    except (InputError, OSError):
        assert name in ("whole_folder", "lock")  # they come back to look, and find the link
    assert content(outside) == before
    assert content(work / "moved") != moved


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_link_at_any_depth_is_refused(work: Path, outside: Path, name: str, depth: int) -> None:
    parts = ["a", "b", "c"]
    Path(*parts[:depth]).mkdir(parents=True, exist_ok=True)
    Path(*parts[: depth + 1]).symlink_to(outside if depth == 2 else outside / "album")
    before = content(outside)
    for folder in (Path(*parts), Path(*parts).absolute()):
        if name == "remove":
            OPERATIONS[name](folder)
        else:
            with pytest.raises(InputError, match="is a symbolic link"):
                OPERATIONS[name](folder)
    assert content(outside) == before


def test_what_is_kept_in_place_is_a_plain_file_of_one_name(work: Path) -> None:
    Path("precious").write_text("precious")
    os.link("precious", "metrics.jsonl")
    os.mkfifo("pipe")
    for name in ("metrics.jsonl", "pipe"):
        with pytest.raises((InputError, OSError)):
            files.append_file(Path(name))
    assert Path("precious").read_text() == "precious"


def test_an_interrupted_preparation_that_is_not_ours_is_removed(work: Path) -> None:
    data = Files(corpus=str(pairs(work / "pairs.jsonl")), cache="cache")
    made = prepare(data, Words(), progress=False).folder
    growing = made.with_name(f".{made.name}.growing")
    shutil.rmtree(made)
    for text in ("{}", '{"rows": 7}', '{"rows": {"train": 3}}'):
        growing.mkdir()
        (growing / "reading.json").write_text(text)
        (growing / "train.raw").write_text("no Arrow")
        with pytest.raises(InputError, match="damaged"):
            prepare(data, Words(), progress=False)
        assert not growing.exists()
    assert len(prepare(data, Words(), progress=False).split("train")) > 100
