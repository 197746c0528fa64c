"""Every command that the README and docs/ show runs as written, or is in docs/lab/commands.md with its last run.

What is not in that table is run here, page by page and in the order of the page, in a folder with small stand-ins of
what the page talks about. A new command so has to work, or to be entered.
"""

import io
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from bangbang.cli.main import main
from tests.conftest import TINY_CONFIG, sentence, write_corpus
from tests.test_docs import blocks

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "docs" / "lab" / "commands.md"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "lab").glob("*.md"))]
PROGRAM = re.compile(r"(?:\$ )?((?:bangbang|make|python|pip|torchrun|tensorboard|accelerate|curl|echo) .*)")
REFUSED = re.compile(r"\$ bangbang .*\nbangbang: error: .*\n")  # tests/test_docs.py looks after what is said of these
PICTURED = {"captions.md": ("shapes", "photos", "mle", "spg"), "start.md": ("mle", "raml", "spg", "shapes")}
"""The runs of a page that caption pictures; all others write texts."""
LINES = 8


def commands(page: Path) -> list[str]:
    """The command lines in a page's blocks of code, without prompts and comments, each once."""
    shown = (block for block in blocks(page.read_text("utf-8")) if not block.startswith("#!"))
    text = "".join(re.sub(r"\s*\\\n\s*", " ", REFUSED.sub("", block)) for block in shown)
    found = (PROGRAM.fullmatch(line.strip()) for line in text.splitlines())
    return list(dict.fromkeys(re.split(r"\s+#", each[1])[0].strip() for each in found if each))


def entered() -> dict[str, str]:
    """The commands of the table, with the day of their last run."""
    return dict(re.findall(r"^\| `(.*)` \| (.*) \|$", TABLE.read_text("utf-8"), re.MULTILINE))


SHOWN = {page.name: commands(page) for page in PAGES}
FIRST = {each: name for name, found in reversed(SHOWN.items()) for each in found}  # the page that shows a command first
SHORT = {
    name: [each for each in found if each not in entered() and FIRST[each] == name] for name, found in SHOWN.items()
}


def test_the_table_has_only_what_a_page_shows() -> None:
    assert not set(entered()) - {each for found in SHOWN.values() for each in found}
    assert all(re.fullmatch(r"not run|20\d\d-\d\d-\d\d", day) for day in entered().values())


def test_only_bangbang_is_run() -> None:
    """Other programs take long, install something or need a network: they are in the table."""
    short = (each for found in SHORT.values() for each in found)
    assert not [each for each in short if not each.startswith("bangbang ") and " | bangbang " not in each]


@pytest.fixture(scope="module")
def text_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with as many validation examples as a page asks for, which knows the words of its example."""
    folder = tmp_path_factory.mktemp("text")
    corpus = write_corpus(folder / "pairs", {"train": 120, "valid": 40, "test": 12})
    for ending, text in (("src", "a library to read pictures"), ("tgt", "image library")):  # pages explain this one
        with (corpus / f"train.{ending}").open("a") as file:
            file.write(f"{text}\n" * 3)
    config = folder / "tiny.toml"
    config.write_text(TINY_CONFIG.format(corpus=corpus, cache=folder / "cache", steps=20))
    assert main(["train", str(config), "--out", str(folder / "run")]) == 0
    return folder / "run"


def lay_out(page: str, desk: Path, text_run: Path, shapes_run: Path) -> None:
    """The folder of somebody who follows a page: its runs, texts, pictures and configs."""
    names = dict.fromkeys(run for command in SHORT[page] for run in re.findall(r"\bruns/[\w./-]+", command))
    for number, name in enumerate(names, 1):
        pictured = Path(name).name in PICTURED.get(page, ())
        shutil.copytree(shapes_run if pictured else text_run, desk / name)
        config = desk / name / "config.toml"  # reports refuse two runs that are the same
        config.write_text(re.sub(r"^seed = 1$", f"seed = {number}", config.read_text(), flags=re.MULTILINE))
    texts = [sentence(number) for number in range(LINES)]
    for name in ("in.txt", "new.txt", "words.txt"):
        (desk / name).write_text("".join(source + "\n" for source, _ in texts))
    for name in ("references.txt", "a.txt", "b.txt"):
        (desk / name).write_text("".join(target + "\n" for _, target in texts))
    scenes = sorted((shapes_run.parent / "scenes").glob("*.png"))
    drawn = "corpora/shapes-scenes-1/synthetic-test-00000.png"
    pictures = ("a.jpg", "new.jpg", "other.png", "photos/a.png", "new-photos/a.png", drawn)
    for name, scene in zip(pictures, scenes[: len(pictures)], strict=True):
        (desk / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(scene, desk / name)
    rows = "".join(f'{number},"{sentence(number)[0]}",{sentence(number)[1]}\n' for number in range(300))
    (desk / "articles.csv").write_text("id,text,title\n" + rows)
    (mine,) = re.findall(r"```toml\n(\[data\]\ncorpus = \"articles.csv\".*?)```", tutorial(), re.DOTALL)
    (desk / "mine.toml").write_text(mine)


def tutorial() -> str:
    return (ROOT / "docs" / "tutorial.md").read_text("utf-8")


def redirected(command: str) -> tuple[list[str], bytes, Path | None]:
    """A command's words, what stands on its standard input, and where its output goes."""
    words, given, out = shlex.split(command), b"", None
    if "|" in words:
        place = words.index("|")
        assert words[0] == "echo"
        given, words = (" ".join(words[1:place]) + "\n").encode(), words[place + 1 :]
    if "<" in words:
        place = words.index("<")
        given = Path(words[place + 1]).read_bytes()
        del words[place : place + 2]
    if ">" in words:
        place = words.index(">")
        out = Path(words[place + 1])
        del words[place : place + 2]
    assert words.pop(0) == "bangbang"
    return words, given, out


@pytest.mark.parametrize("page", [name for name, found in SHORT.items() if found])
def test_short_commands_run_as_written(
    page: str,
    text_run: Path,
    shapes_run: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lay_out(page, tmp_path, text_run, shapes_run)
    monkeypatch.chdir(tmp_path)
    for command in SHORT[page]:
        words, given, out = redirected(command)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        capsys.readouterr()
        code = main(words)
        captured = capsys.readouterr()
        assert code == 0, f"{command}: {captured.err}"
        if out is not None:
            out.write_text(captured.out)
