"""All of bangbang writes, moves and removes through `files.py` and `folders.py`, which follow no symbolic link."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "bangbang"
HOMES = {"files.py", "folders.py"}
# what writes by its name alone, whatever it is called on
WRITERS = {
    *("write_text", "write_bytes", "touch", "mkdir", "makedirs", "mkdtemp", "mkstemp", "NamedTemporaryFile"),
    *("unlink", "rmdir", "removedirs", "rmtree", "rename", "renames", "copytree", "copyfile"),
    *("symlink", "symlink_to", "hardlink_to", "chmod", "lchmod", "mkfifo", "mknod"),
    # libraries that open by name
    *("save_file", "SummaryWriter", "write_to_directory", "save_to_disk", "tofile", "savez"),
}
# what writes if it is a function of this module
OF_MODULES = {"os": {"open", "remove", "replace", "link", "truncate"}, "shutil": {"move", "copy", "copy2"}}
OF_MODULES |= {"np": {"save"}, "torch": {"save"}}
# file -> calls, and why they are allowed
ALLOWED = {
    "training/shared_memory.py": {"mkstemp", "unlink", "open"},  # memory in /dev/shm, under a name nobody can foresee
    "cli/streams.py": {"os.open", "open"},  # /dev/null
    "data/hush.py": {"os.open"},  # /dev/null
    "plain_files.py": {"os.open"},  # to read
}


def writes(text: str) -> Iterator[str]:
    """The calls in a source text that write, move or remove by name."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and (found := write(node)):
            yield found


def write(call: ast.Call) -> str:
    """The name of a call that writes, or nothing."""
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    module = function.value.id if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) else ""
    if name in WRITERS:
        return name
    if name in OF_MODULES.get(module, ()):
        return f"{module}.{name}"
    keywords = {word.arg: word.value for word in call.keywords}
    if name in ("open", "fdopen", "OSFile", "memory_map", "open_memmap"):
        modes = [*call.args, *(value for key, value in keywords.items() if key == "mode")]
        texts = [mode.value for mode in modes if isinstance(mode, ast.Constant) and isinstance(mode.value, str)]
        return name if any(re.fullmatch(r"[rwaxbt]*[wax+][bt+]*", text) for text in texts) else ""
    by_path = isinstance(function, ast.Attribute) and len(call.args) == 1 and not keywords
    if name == "replace" and by_path:  # of a path; a text's takes two
        return name
    if name == "savefig" and "format" not in keywords:  # into a stream it needs one
        return name
    if name in ("new_stream", "new_file", "ParquetWriter") and module in ("ipc", "pa", "pq", ""):
        return name if call.args and not isinstance(call.args[0], ast.Name | ast.Attribute | ast.BinOp) else ""
    return ""


def test_what_is_written_goes_through_files() -> None:
    names = [str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py")]
    found = {name: set(writes((SOURCE / name).read_text("utf-8"))) for name in names if name not in HOMES}
    assert {name: calls for name, calls in found.items() if calls} == ALLOWED


@pytest.mark.parametrize(
    "text",
    [
        "open(path, 'w')",
        "path.open('ab')",
        "path.open(mode='r+')",
        "path.open('xb')",
        "os.open(path, flags)",
        "path.write_text(text)",
        "path.unlink()",
        "old.replace(new)",
        "os.replace(old, new)",
        "shutil.rmtree(folder)",
        "from shutil import rmtree; rmtree(folder)",
        "folder.mkdir(parents=True)",
        "save_file(tensors, path)",
        "figure.savefig(path, dpi=150)",
        "pa.ipc.new_stream(str(path), schema)",
        "pa.OSFile(name, 'w')",
    ],
)
def test_such_calls_are_found(text: str) -> None:
    assert list(writes(text))


@pytest.mark.parametrize(
    "text",
    [
        "open(path)",
        "path.open('rb')",
        "Run.open(folder, cache)",
        "text.replace('a', 'b')",
        "dataclasses.replace(data, path='')",
        "names.remove(name)",
        "figure.savefig(stream, format='svg')",
        "pa.ipc.new_stream(file, schema)",
        "open_memmap(path, mode='r')",
        "Image.open(path)",
        "lzma.open(path, 'rt')",
    ],
)
def test_others_are_not(text: str) -> None:
    assert not list(writes(text))
