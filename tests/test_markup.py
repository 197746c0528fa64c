"""A text is a text: no name and no line of data is read as markup by the terminal."""

import ast
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from bangbang.cli.main import main
from bangbang.terminal import Console

SOURCE = Path(__file__).parents[1] / "src" / "bangbang"
NASTY = "[/a] [bold]x[/bold] :bug:"


def shown(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """What a command prints, line breaks and frames aside."""
    assert main([str(word) for word in words]) == 0, capsys.readouterr().err
    return " ".join(capsys.readouterr().out.split())


@pytest.fixture(scope="module")
def nasty_run(tiny_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose path has `[/a]:bug:` in it."""
    return shutil.copytree(tiny_run, tmp_path_factory.mktemp("nasty") / "[" / "a]:bug:")


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")


def test_a_console_prints_what_it_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    Console().print(NASTY)
    assert capsys.readouterr().out == NASTY + "\n"


def test_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"{NASTY} number {number}\t{NASTY} {number}\n" for number in range(40)]
    folder = tmp_path / "[" / "a]:bug:"
    folder.mkdir(parents=True)
    for split in ("train", "valid", "test"):
        (folder / f"{split}.src").write_text("".join(row.split("\t")[0] + "\n" for row in rows))
        (folder / f"{split}.tgt").write_text("".join(row.split("\t")[1] for row in rows))
    text = shown(capsys, "data", folder, "--show", "2", "--out", tmp_path / "made [" / "a]:bug:")
    assert f"→ {NASTY} 0" in text and f"{NASTY} number 0" in text and "a]:bug:" in text


def test_evaluate(nasty_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, "evaluate", nasty_run, "--limit", "4")
    assert text.count(str(nasty_run)) == 2


def test_compare(nasty_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "4 examples" in shown(capsys, "compare", nasty_run, nasty_run, "--limit", "4")


def test_explain(nasty_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, "explain", nasty_run, NASTY, "--reference", NASTY)
    assert text.count(NASTY) == 2


def test_report(nasty_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "[" / "a]"
    text = shown(capsys, "report", nasty_run, "--label", NASTY, "--title", f"{NASTY} title", "--out", out)
    assert text.count(NASTY) == 11 and f"{NASTY} title: 20 test examples" in text and str(out) in text


def test_reproduce(tiny_corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "[" / "a]:bug:"
    text = shown(capsys, "reproduce", "headlines", "--corpus", tiny_corpus, "--out", out, "--dry-run")
    assert f"into {out}" in text


PRINTERS = ("status", "add_row", "add_column", "add_task", "Table", "track")
NUMERIC = tuple(",dfg%")  # how the format of a number ends


def is_number(value: ast.FormattedValue) -> bool:
    spec = value.format_spec
    parts = spec.values if isinstance(spec, ast.JoinedStr) else []
    return bool(parts) and isinstance(parts[-1], ast.Constant) and str(parts[-1].value).endswith(NUMERIC)


def may_draw(call: ast.Call) -> bool:
    """Whether a call of rich's is given a string with something in it that is not a number."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    parts = [part for value in given if isinstance(value, ast.JoinedStr) for part in value.values]
    return any(isinstance(part, ast.FormattedValue) and not is_number(part) for part in parts)


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """Every call of a file with the last part of its name."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node.func.attr, node
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id, node


# two numbers that are formatted already
NUMBERS_ONLY = {"cli/compare.py: add_row: f'{low}..{high}'", "cli/score.py: add_row: f'{low} .. {high}'"}


def test_strings_with_names_reach_rich_as_text() -> None:
    """Consoles of our own never read markup; tables, which a caller may print on another console, hold `Text`."""
    found = set()
    for path in sorted(SOURCE.rglob("*.py")):
        for name, call in calls(path):
            if name in PRINTERS and may_draw(call):
                given = ", ".join(ast.unparse(value) for value in call.args if isinstance(value, ast.JoinedStr))
                found.add(f"{path.relative_to(SOURCE).as_posix()}: {name}: {given}")
    assert found == NUMBERS_ONLY


def test_there_is_one_console_and_columns_do_not_read_markup() -> None:
    wrong = []
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text("utf-8")
        if "import Console" in text.replace("from bangbang.terminal import Console", ""):
            wrong.append(f"{path}: takes rich's own Console")
        wrong += [f"{path}: {name}" for name, _ in calls(path) if name == "from_markup"]
        for name, call in calls(path):
            if name == "TextColumn" and "{" in ast.unparse(call.args[0]) and "markup=False" not in ast.unparse(call):
                wrong.append(f"{path}: {ast.unparse(call)}")
    assert not wrong
