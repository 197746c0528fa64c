"""What the documents name is there, and the code that docs/extending.md shows is the example's."""

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from bangbang import config as configs
from bangbang import registry
from bangbang.cli.main import verb_parser
from bangbang.errors import InputError
from bangbang.settings import KindSettings

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "bangbang"
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
HOMES = {path.relative_to(path.parent if path.parent == ROOT else ROOT / "docs").as_posix(): path for path in PAGES}
DOCUMENTS = {name: path.read_text("utf-8") for name, path in HOMES.items()}
NOW = sorted(set(DOCUMENTS) - {"CHANGELOG.md"})  # what is told of the past may be gone
TABLES = "|".join(configs.bases())


def python_files(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w./-])[\w/]+\.py\b", text))


def is_there(named: str) -> bool:
    """Whether a path is one below the root or the package; a bare name may be in any of the package's folders."""
    places = (ROOT / named, SOURCE.parent / named, SOURCE / named)
    return any(place.is_file() for place in places) or ("/" not in named and any(SOURCE.glob(f"*/{named}")))


def docstrings(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value


@pytest.mark.parametrize("name", NOW)
def test_files_that_a_document_names_are_there(name: str) -> None:
    assert not [named for named in sorted(python_files(DOCUMENTS[name])) if not is_there(named)]


def test_files_that_docstrings_name_are_there() -> None:
    for path in [*SOURCE.rglob("*.py"), *(ROOT / "benchmarks").glob("*.py"), *(ROOT / "examples").rglob("*.py")]:
        named = set().union(*map(python_files, docstrings(path)))
        assert not [each for each in named if not is_there(each)], path.relative_to(ROOT)


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_links_lead_somewhere(name: str) -> None:
    home = HOMES[name].parent
    found = re.findall(r"\]\(([^)#:]+)\)", DOCUMENTS[name])
    assert not [link for link in found if not (home / link).exists()]


def keys_of(table: str) -> set[str]:
    """The settings that any built-in kind of a table has."""
    base = configs.bases()[table]
    kinds = registry.built_in(base.group).values() if issubclass(base, KindSettings) else [base]
    return {"kind", *(key for kind in kinds for key in registry.fields_of(kind))}


@pytest.mark.parametrize("name", NOW)
def test_settings_that_a_document_names_are_there(name: str) -> None:
    text = DOCUMENTS[name] if name != "paper-to-code.md" else DOCUMENTS[name].partition("\n## ")[2]
    text = re.sub(r"```python\n.*?```", "", text, flags=re.DOTALL)
    named = re.findall(rf"(?<![\w./])({TABLES})\.([a-z_]+)\b(?![.(/])", text)
    files = {"json", "toml", "md"}  # vocabulary.json, and the like
    assert not [f"{table}.{key}" for table, key in named if key not in keys_of(table) | files]


@pytest.mark.parametrize("name", NOW)
def test_trainings_that_a_document_shows_have_good_configs(name: str) -> None:
    text = DOCUMENTS[name].replace("\\\n", " ")
    for path, options in re.findall(r"(?<!\$ )bangbang train (configs/\S+\.toml)([^`#\n]*)", text):
        configs.read(ROOT / path, changes(options))


def blocks(text: str) -> list[str]:
    """The blocks of a page that a shell could read: those without a language, and a shell's.

    All are matched and then chosen from: what ends a block of Python would otherwise begin one.
    """
    found = re.findall(r"^ *```(\w*)\n(.*?)^ *```$", text, flags=re.DOTALL | re.MULTILINE)
    return [block for language, block in found if language in ("", "sh", "bash", "console")]


def commands(text: str) -> Iterator[str]:
    """The calls of bangbang in blocks of code, without prompts and comments; what stands for something is left out."""
    for block in blocks(text):
        for line in re.sub(r"\s*\\\n\s*", " ", block).splitlines():
            if found := re.match(r"(?:\$ |time |[\w/.-]+bin/)?bangbang (\S.*)", line.strip()):
                call = re.split(r"\s+#|\s[|<>]|\s{3,}", found[1])[0]
                if not re.search(r"\.\.\.|\[|VERB", call):
                    yield call


@pytest.mark.parametrize("name", NOW)
def test_commands_that_a_document_shows_are_understood(name: str) -> None:
    """By their parsers; what they do takes minutes. A call with a mistake is followed by what is said of it."""
    for call in commands(re.sub(r"\$ bangbang .*\nbangbang: error: .*\n", "", DOCUMENTS[name])):
        verb, *rest = shlex.split(call)
        if not verb.startswith("-"):
            verb_parser(verb).parse_args(rest)


def test_commands_of_the_makefile_are_understood() -> None:
    calls = re.findall(r"^\t@?\$\(BIN\)/bangbang (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert [shlex.split(call)[0] for call in calls] == ["reproduce", "explain"]
    for call in calls:
        verb, *rest = shlex.split(call.replace("$(FIRST)", "runs/first"))
        verb_parser(verb).parse_args(rest)


def changes(options: str) -> list[str]:
    """The values of each `--set` of a command line."""
    words = shlex.split(options)
    return [words[place + 1] for place, word in enumerate(words) if word == "--set"]


def test_errors_that_documents_show_are_made_so() -> None:
    shown = r"\$ bangbang train (configs/\S+\.toml)(.*)\nbangbang: error: (.*)\n"
    found = [each for text in DOCUMENTS.values() for each in re.findall(shown, text)]
    assert found
    for path, options, message in found:
        with pytest.raises(InputError, match=re.escape(message)):
            configs.read(ROOT / path, changes(options))


def test_the_code_of_extending_is_the_examples() -> None:
    """Or it runs by itself."""
    files = [path.read_text("utf-8") for path in (ROOT / "examples" / "plugin").rglob("*.py")]
    blocks = re.findall(r"```python\n(.*?)```", DOCUMENTS["extending.md"], re.DOTALL)
    assert len(blocks) == 5
    alone = [block for block in blocks if not any(block in file for file in files)]
    assert len(alone) == 1
    exec(compile(alone[0], "extending.md", "exec"), {"__name__": "extending"})


@pytest.mark.parametrize("name", ["README.md", *(name for name in NOW if HOMES[name].parent != ROOT)])
def test_lines_of_prose_are_short(name: str) -> None:
    """Tables and code may be wide, and a word that nothing can break."""
    prose = re.sub(r"^ *```.*?^ *```", "", DOCUMENTS[name], flags=re.DOTALL | re.MULTILINE).splitlines()
    wide = [line for line in prose if len(line) > 120 and not line.startswith("|")]
    assert not [line for line in wide if " " in line.strip()[:120]]


def test_the_readme_is_a_screen_before_its_tree() -> None:
    screen, _, _ = DOCUMENTS["README.md"].partition("\n## ")
    assert screen.count("\n") < 60


def test_every_page_can_be_reached() -> None:
    index = DOCUMENTS["index.md"]
    assert not [
        name for name, path in HOMES.items() if path.parent != ROOT and f"]({name})" not in index and name != "index.md"
    ]
