"""Which room may import which, and that the command line stays quick to answer."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "bangbang"
BASE = {"errors", "symbols", "files", "randomness", "config", "locks", "precision", "products"}
# room -> rooms it may import, beside the base and itself
ALLOWED = {
    "rewards": set(),
    "heads": set(),
    "metrics": set(),
    "features": set(),
    "data": {"features"},
    "models": {"heads"},
    "objectives": {"rewards", "heads"},
    "decoding": {"models", "heads", "rewards"},
    "training": {"objectives", "decoding", "features", "data", "models", "metrics", "heads", "rewards"},
    "explanation": {"training", "objectives", "decoding", "data", "rewards"},
    "reporting": {"explanation", "training", "metrics"},
    "reproduction": {"training"},
    "bench": {"training", "objectives", "decoding", "data", "models", "metrics", "heads", "rewards"},
    "cli": {
        "bench",
        "reporting",
        "reproduction",
        "explanation",
        "training",
        "objectives",
        "decoding",
        "features",
        "data",
        "models",
        "metrics",
        "heads",
        "rewards",
    },
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
    files = sorted((SOURCE / room).rglob("*.py"))
    assert files
    for path in files:
        beyond = imported_rooms(path) - BASE - {room} - ALLOWED[room]
        assert not beyond, f"{path.relative_to(SOURCE)} imports {beyond}"


def test_every_room_has_a_rule() -> None:
    assert {path.parent.name for path in SOURCE.glob("*/__init__.py")} == set(ALLOWED)


@pytest.mark.parametrize(
    "arguments",
    [[verb, "--help"] for verb in ("train", "features", "generate", "explain", "reproduce", "report", "bench")]
    + [["--help"]],
)
def test_help_does_not_wait_for_torch(arguments: list[str]) -> None:
    code = (
        "import sys; from bangbang.cli.main import main\n"
        "try: main(sys.argv[1:])\nexcept SystemExit: pass\n"
        "assert 'torch' not in sys.modules and 'datasets' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, *arguments], check=True, capture_output=True)
