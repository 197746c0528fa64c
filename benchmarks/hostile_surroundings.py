"""Each verb on sound files in surroundings that are not: another locale, closed streams, odd terminals, full disks.

A part of `benchmarks.hostile`. A verb must work, or say in one line why it cannot; what it leaves on a full disk is
whole. Full disks are file systems of 1 MB in memory if we may mount one, else a limit on the size of files.
"""

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import torch

from bangbang.cli.main import main as bangbang
from benchmarks.hostile_ground import VERBS, Ground, Verb
from benchmarks.hostile_workers import TYPED, limit_memory, spare_time

DISK = 2**20
# verbs and forms of verbs that read nothing of a stranger's, or write where they are told
MORE = {
    "plugins": Verb("plugins", (), ("texts",)),
    "plugins --json": Verb("plugins objectives --json", (), ("texts",)),
    "doctor": Verb("doctor", (), ("texts",)),
    "bench --help": Verb("bench --help", (), ("texts",)),
    "help": Verb("--help", (), ("texts",)),
    "migrate --out": Verb("migrate {folder}/config.toml --out {out}/new.toml", (), ("texts",)),
    "data --out": Verb("data {folder}/config.toml --out {out}/corpora", ()),
    "explain --html": Verb("explain {run} --html {out}/page.html", ()),
    "evaluate --json": Verb("evaluate {run} --limit 2 --json", ()),
}
ALL = {**VERBS, **MORE}
TYPING = ("generate", "ensemble")  # what reads standard input, except of images
Room = int | None


class Setting(NamedTuple):
    """Surroundings of a verb."""

    environment: Mapping[str, str | None] = MappingProxyType({})
    """None where a variable is not set."""
    encoding: str = "utf-8"
    closed: int | None = None
    """A standard stream."""
    output: str = ""
    """Where standard output leads to, if not to us."""
    room: Room = None
    """Bytes that are free on the disk that is written to."""


SETTINGS = {
    "LANG=C": Setting({"LANG": "C", "LC_ALL": "C"}, encoding="ascii"),
    "stdin closed": Setting(closed=0),
    "stdout closed": Setting(closed=1),
    "stderr closed": Setting(closed=2),
    "stdout full": Setting(output="/dev/full"),
    "TERM=dumb": Setting({"TERM": "dumb"}),
    "20 columns": Setting({"COLUMNS": "20", "LINES": "3"}),
    "no HOME": Setting({"HOME": None, "XDG_CACHE_HOME": None}),
    "a full disk": Setting(room=0),
    "12 KB free": Setting(room=12 * 2**10),
    "100 KB free": Setting(room=100 * 2**10),
}


class End(NamedTuple):
    code: int
    printed: str
    told: str
    """On standard error."""


def surrounded(ground: Ground) -> Iterator[tuple[str, str]]:
    """Each verb of each ground in all surroundings, and what went wrong, or nothing."""
    with disk(ground.theirs.parent / "disk") as small:
        for verb, each in ALL.items():
            for name in set(each.grounds) & set(ground.names):
                for setting in SETTINGS:
                    yield f"{verb} of {name}, {setting}", attempt(ground, verb, name, setting, small)


def attempt(ground: Ground, verb: str, name: str, setting: str, small: Path) -> str:
    ground.restore()
    chosen, words, work = SETTINGS[setting], ground.command(verb, name, ALL), ground.work
    if chosen.room is not None:
        words, work = onto(small, chosen.room, ground, verb, words)
    end = run(words, work, chosen)
    left = [path for path in work.rglob(".*") if path.name != ".lock" and not path.name.endswith(".growing")]
    return f"left behind: {left}" if left else trouble_of(end, verb, name, setting)


def trouble_of(end: End, verb: str, name: str, setting: str) -> str:
    """What is wrong with an end in these surroundings, or nothing."""
    reads = verb in TYPING and name != "images"
    told = "" if end.told.strip() == "" else end.told.strip().splitlines()[-1]
    codes = {"stdout closed": (2,), "stdin closed": (2,) if reads else (0,), "stdout full": (0, 2)}
    expected = (0, 2) if SETTINGS[setting].room is not None else codes.get(setting, (0,))
    clear = end.code == 0 or setting == "stderr closed" or told.startswith("bangbang: error: ")
    if end.code in expected and clear and "Traceback" not in end.told + end.printed:
        return ""
    return f"exit code {end.code}: {end.told[-2_000:]}"


def onto(small: Path, room: int, ground: Ground, verb: str, words: list[str]) -> tuple[list[str], Path]:
    """The words of a verb that writes to the small disk; what it changes in place is there too, if it fits."""
    for path in small.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    (small / "work").mkdir()
    run = next((word for word in words if word.endswith("/run") and str(ground.theirs) in word), "")
    moved = bool(run) and verb in ("resume", "tune", "report")
    if moved:
        shutil.copytree(run, small / "run")
    free = shutil.disk_usage(small).free
    with contextlib.suppress(OSError), (small / "filler").open("wb") as filler:
        filler.write(bytes(max(0, min(free, DISK) - room)))
    places = {str(ground.work): str(small / "work"), **({run: str(small / "run")} if moved else {})}
    for old, new in places.items():
        words = [word.replace(old, new) for word in words]
    return words, small / "work"


@contextlib.contextmanager
def disk(folder: Path) -> Iterator[Path]:
    """A file system of 1 MB, if we may; else a folder, where `run` limits the size of files."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(folder)], capture_output=True, check=False
    )
    try:
        yield folder
    finally:
        if mounted.returncode == 0:
            subprocess.run(["umount", str(folder)], check=False)


def run(words: list[str], folder: Path, setting: Setting) -> End:
    """A verb in a process of its own."""
    with tempfile.TemporaryFile() as typed, tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as told:
        typed.write(TYPED)
        typed.seek(0)
        child = os.fork()
        if child == 0:
            try:
                os.chdir(folder)
                for number, file in enumerate((typed, printed, told)):
                    os.dup2(file.fileno(), number)
                os._exit(run_here(words, setting, os.path.ismount(folder.parent)))
            finally:
                os._exit(99)
        signal.signal(signal.SIGALRM, lambda *_: os.kill(child, signal.SIGKILL))
        signal.alarm(60)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        signal.alarm(0)
        printed.seek(0)
        told.seek(0)
        return End(code, *(file.read().decode(errors="replace") for file in (printed, told)))


def run_here(words: list[str], setting: Setting, mounted: bool) -> int:
    """A verb in this process, which is changed to have these surroundings."""
    torch.set_num_threads(1)
    spare_time()
    limit_memory()
    for name, value in setting.environment.items():
        os.environ.pop(name, None)
        os.environ.update({} if value is None else {name: value})
    if setting.output:
        os.dup2(os.open(setting.output, os.O_WRONLY), 1)
    if setting.room is not None and not mounted:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        room = max(setting.room, 2**13)  # what is told goes to a file, too
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    sys.stdin = os.fdopen(0, encoding=setting.encoding, closefd=False)
    sys.stdout, sys.stderr = (os.fdopen(each, "w", encoding=setting.encoding, closefd=False) for each in (1, 2))
    if setting.closed is not None:
        os.close(setting.closed)
        setattr(sys, ("stdin", "stdout", "stderr")[setting.closed], None)
    return ended(lambda: bangbang(words))


def ended(work: Callable[[], int]) -> int:
    """Its exit code, as the interpreter would make it: what cannot be flushed at the end is told, and is 120."""
    try:
        code = work()
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 0
    except BaseException:
        traceback.print_exc()
        return 70
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except OSError:
        traceback.print_exc()
        return 120
    return code
