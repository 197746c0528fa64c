"""Which room may import which, who may name a kind, and that settings and the command line stay quick."""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from bangbang import registry

SOURCE = Path(__file__).parents[1] / "src" / "bangbang"
BASE = {path.stem for path in SOURCE.glob("*.py")}
# room -> rooms it may import, beside the base and itself; any room's settings may be read by the config alone
ALLOWED = {
    "rewards": set(),
    "heads": set(),
    "metrics": set(),
    "features": set(),
    "corpora": {"features"},
    "data": {"features", "corpora"},
    "models": {"heads", "hf"},  # its settings build what is borrowed from transformers
    "hf": {"heads", "models", "objectives", "rewards", "metrics", "data", "decoding", "tasks"},
    "objectives": {"rewards", "heads"},
    "decoding": {"models", "heads", "rewards"},
    "tasks": {"metrics"},
    "training": {
        "objectives",
        "decoding",
        "features",
        "corpora",
        "data",
        "models",
        "metrics",
        "heads",
        "rewards",
        "tasks",
    },
    "explanation": {"training", "objectives", "decoding", "data", "models", "rewards"},
    "reporting": {"explanation", "training", "metrics", "tasks", "decoding"},
    "reproduction": {"training", "tasks"},
    "serving": {"explanation", "training", "decoding", "features"},
    "cli": {
        "serving",
        "reporting",
        "reproduction",
        "explanation",
        "training",
        "tasks",
        "objectives",
        "decoding",
        "features",
        "corpora",
        "data",
        "models",
        "metrics",
        "heads",
        "rewards",
        "hf",
    },
}
# groups whose kinds nobody but their own room may name; a corpus and a metric are named by users of the library
PRIVATE = {"models": "models", "objectives": "objectives", "tasks": "tasks"}
# words that a kind shares with something else: these files mean the other thing
OTHER_MEANINGS = {
    "corpora/captions.py": {"captions"},  # the identity of a corpus of captions, kept in manifests
    "corpora/caption_files.py": {"captions"},  # a key of COCO's files
    "cli/bench.py": {"hf"},  # a benchmark
    "cli/main.py": {"hf"},  # a verb
    "diagnosis.py": {"captions", "hf"},  # extras of the package
    "features/encoders.py": {"hf"},  # a prefix of encoders' names
    "explanation/scatter.py": {"mle", "raml", "bbspg", "spg", "pg"},  # colours of the page's style sheet
}


def imported_rooms(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return {name.split(".")[1] for name in names if name.startswith("bangbang.")} - {"__version__"}


@pytest.mark.parametrize("room", sorted(ALLOWED))
def test_imports_go_one_way(room: str) -> None:
    files = sorted([*(SOURCE / room).rglob("*.py"), *(SOURCE / room).rglob("*.pyi")])
    assert files
    for path in files:
        beyond = imported_rooms(path) - BASE - {room} - ALLOWED[room]
        assert not beyond, f"{path.relative_to(SOURCE)} imports {beyond}"


def test_every_room_has_a_rule() -> None:
    assert {path.parent.name for path in SOURCE.glob("*/__init__.py")} == set(ALLOWED)


def texts_of(path: Path) -> Iterator[str]:
    """The strings of a file that are no docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            yield node.value


@pytest.mark.parametrize("group", sorted(PRIVATE))
def test_no_kind_is_named_outside_its_room(group: str) -> None:
    kinds = set(registry.built_in(group))
    for path in SOURCE.rglob("*.py"):
        name = path.relative_to(SOURCE).as_posix()
        if name.startswith(f"{PRIVATE[group]}/"):
            continue
        found = kinds & set(texts_of(path)) - OTHER_MEANINGS.get(name, set())
        assert not found, f"{name} names {found}"


@pytest.mark.parametrize("group", sorted(PRIVATE))
def test_within_its_room_a_kind_is_named_by_its_settings_alone(group: str) -> None:
    for path in (SOURCE / PRIVATE[group]).glob("*.py"):
        if path.name != "settings.py":
            found = set(registry.built_in(group)) & set(texts_of(path))
            assert not found, f"{path.relative_to(SOURCE)} names {found}"


def test_settings_are_imported_without_torch() -> None:
    modules = sorted(f"bangbang.{path.parent.name}.settings" for path in SOURCE.glob("*/settings.py"))
    assert len(modules) >= 8
    heavy = "{'torch', 'numpy', 'datasets'}"
    code = f"import sys, {', '.join(modules)}, bangbang.config\nassert not {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_file_goes_into_the_wheel() -> None:
    """Pages, budgets, word tables, and the stubs that public names are found by."""
    project = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text())
    patterns = project["tool"]["setuptools"]["package-data"]["bangbang"]
    packed = {path for pattern in patterns for path in SOURCE.glob(pattern)}
    others = {path for path in SOURCE.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")}
    assert others <= packed


def test_public_names_are_where_the_stubs_say() -> None:
    for stub in SOURCE.glob("*/__init__.pyi"):
        package = __import__(f"bangbang.{stub.parent.name}", fromlist=["*"])
        for name in package.__all__:
            assert getattr(package, name).__class__.__name__ != "module", f"{package.__name__}.{name} is a module"
        with pytest.raises(AttributeError):
            package.no_such_name  # noqa: B018


@pytest.mark.parametrize(
    "arguments",
    [[verb, "--help"] for verb in ("train", "features", "tune", "generate", "explain", "reproduce", "report", "bench")]
    + [["serve", "--help"], ["doctor", "--help"], ["--help"], ["plugins"], ["plugins", "--json"]],
)
def test_it_does_not_wait_for_torch(arguments: list[str]) -> None:
    code = (
        "import sys; from bangbang.cli.main import main\n"
        "try: main(sys.argv[1:])\nexcept SystemExit: pass\n"
        "assert 'torch' not in sys.modules and 'datasets' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, *arguments], check=True, capture_output=True)
