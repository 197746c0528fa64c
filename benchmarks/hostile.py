"""Replace each file and folder of a stranger's run, corpus and features by what has no business there; run each verb.

    python -m benchmarks.hostile --cases 500

A case is a place, a replacement (a link, a pipe, a device, another kind of JSON, ...) and a verb. The verb must work,
or fail with one line and exit code 2; it must end; what is outside stays as it was, byte by byte. Without --cases, all
are tried, which takes hours. Prints the cases that failed; the exit code is 1 if there are any.
"""

import argparse
import contextlib
import io
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

import torch

from bangbang.cli.main import main as bangbang
from bangbang.corpora import shapes

SECONDS = 30
MEMORY = 2 * 2**30  # bytes that a verb may take beyond what is there when it starts
PAIRS = [(f"a text of number {n} about some thing, as long as it is", f"text about thing {n % 5}") for n in range(80)]
CONFIG = """
[data]
corpus = "{corpus}"
cache = "{cache}"
{path}
[model]
kind = "{model}"
layers = 1
units = 8

[training]
batch_size = 16
max_steps = 4
validate_every = 2
log_every = 1
"""

Replacement = Callable[[Path, Path], object]
REPLACEMENTS: dict[str, Replacement] = {
    "nothing": lambda place, outside: None,
    "a link to a file": lambda place, outside: place.symlink_to(outside / "precious"),
    "a link to a folder": lambda place, outside: place.symlink_to(outside / "album"),
    "a link to nothing": lambda place, outside: place.symlink_to(outside / "gone"),
    "a link to itself": lambda place, outside: place.symlink_to(place.name),
    "a pipe": lambda place, outside: os.mkfifo(place),
    "an endless device": lambda place, outside: place.symlink_to("/dev/zero"),
    "an empty device": lambda place, outside: place.symlink_to("/dev/null"),
    "a folder": lambda place, outside: place.mkdir(),
    "an empty file": lambda place, outside: place.write_text(""),
    "5,000 digits": lambda place, outside: place.write_text("9" * 5_000),
    "a list": lambda place, outside: place.write_text("[]"),
    "a number": lambda place, outside: place.write_text("7"),
    "a text": lambda place, outside: place.write_text('"text"'),
    "null": lambda place, outside: place.write_text("null"),
    "an empty object": lambda place, outside: place.write_text("{}"),
    "deep JSON": lambda place, outside: place.write_text("[" * 100_000),
    "no UTF-8": lambda place, outside: place.write_bytes(b"\xff\xfe\xed\xa0\x80\n" * 3),
    "a line of NULs": lambda place, outside: place.write_bytes(bytes(1_000)),
}
VERBS = {
    "evaluate": ["evaluate", "{run}", "--limit", "2"],
    "tune": ["tune", "{run}", "--limit", "2", "--beams", "1", "--mbr", "2", "--temperatures", "1"],
    "generate": ["generate", "{run}"],
    "explain": ["explain", "{run}"],
    "report": ["report", "{run}", "--out", "{out}/report"],
    "compare": ["compare", "{run}", "{run}", "--limit", "2"],
    "resume": ["train", "--resume", "--out", "{run}", "--set", "training.max_steps=5"],
    "train": ["train", "{config}", "--out", "{out}/run"],
    "data": ["data", "{config}", "--show", "1"],
}


class Case(NamedTuple):
    place: str
    """Relative to the stranger's folder."""
    replacement: str
    verb: str


class Outcome(NamedTuple):
    code: int | None
    """None where the verb did not end in time."""
    told: str
    """All that it printed."""


class Ground:
    """What a stranger gave us: runs on texts and on images, their corpora and features. And a folder of our own."""

    def __init__(self, folder: Path) -> None:
        self.theirs, self.sound = folder / "theirs", folder / "sound"
        self.outside, self.work = folder / "outside", folder / "work"
        (self.outside / "album").mkdir(parents=True)
        for name in ("precious", "album/photo"):
            (self.outside / name).write_text(f"{name}: precious\n")
        lines = self.theirs / "texts" / "lines"
        lines.mkdir(parents=True)
        for split in ("train", "valid", "test"):
            (lines / f"{split}.src").write_text("".join(f"{source}\n" for source, _ in PAIRS))
            (lines / f"{split}.tgt").write_text("".join(f"{target}\n" for _, target in PAIRS))
        scenes = self.theirs / "images" / "scenes"
        shapes.draw_corpus(scenes, {"train": 40, "valid": 6, "test": 6})
        self.make("texts", corpus=lines, path="", model="attention_gru")
        self.make("images", corpus="shapes", path=f'path = "{scenes}"', model="show_and_tell")
        shutil.copytree(self.theirs, self.sound)

    def make(self, name: str, **settings: object) -> None:
        """A run that has been trained and reported on. In this process: what verbs import is there when it forks."""
        folder = self.theirs / name
        (folder / "config.toml").write_text(CONFIG.format(cache=folder / "cache", **settings))
        commands = [["train", str(folder / "config.toml"), "--out", str(folder / "run")]]
        commands += [self.command(verb, name) for verb in ("report", "explain", "compare", "data")]
        for command in commands:
            with contextlib.redirect_stdout(io.StringIO()):
                if bangbang(command) != 0:
                    raise RuntimeError(f"{command}: failed on sound files")

    def command(self, verb: str, name: str) -> list[str]:
        folder = self.theirs / name
        places = {"run": folder / "run", "config": folder / "config.toml", "out": self.work}
        picture = ["--image", str(folder / "scenes" / "synthetic-test-00000.png")]
        found = [argument.format(**places) for argument in VERBS[verb]]
        return [*found, *picture] if (verb, name) == ("generate", "images") else found

    def cases(self) -> Iterator[Case]:
        """All of them. Of pictures, which are many, one stands for all; an empty config is a sound one."""
        found = [path.relative_to(self.sound) for path in sorted(self.sound.rglob("*")) if path.name != ".lock"]
        pictures = [path for path in found if path.suffix == ".png"]
        for path in found:
            if path not in pictures[1:] and len(path.parts) > 1:
                for replacement, verb in product(REPLACEMENTS, VERBS):
                    if (path.name, replacement) != ("config.toml", "an empty file"):
                        yield Case(str(path), replacement, verb)

    def attempt(self, case: Case) -> str:
        """Put the replacement in its place and run the verb; says what went wrong, or nothing."""
        for folder in (self.theirs, self.work):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.sound, self.theirs)
        self.work.mkdir()
        place, before = self.theirs / case.place, content(self.outside)
        shutil.rmtree(place) if place.is_dir() else place.unlink()
        REPLACEMENTS[case.replacement](place, self.outside)
        outcome = run(self.command(case.verb, Path(case.place).parts[0]), self.work)
        if outcome.code is None:
            return "did not end"
        if content(self.outside) != before:
            return "changed what is outside"
        last = outcome.told.strip().rpartition("\n")[2]
        if outcome.code != 0 and (outcome.code != 2 or not last.startswith("bangbang: error: ")):
            return f"exit code {outcome.code}: {outcome.told[-3_000:]}"
        return ""


def content(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in sorted(folder.rglob("*"))}


def run(arguments: list[str], folder: Path | None = None) -> Outcome:
    """A verb in a process of its own, which is killed if it takes too long."""
    with tempfile.TemporaryFile() as told, tempfile.TemporaryFile() as typed:
        typed.write(b"a text about some thing\n")
        typed.seek(0)
        child = os.fork()
        if child == 0:
            code = 70
            try:
                os.chdir(folder or ".")
                for stream in (1, 2):
                    os.dup2(told.fileno(), stream)
                os.dup2(typed.fileno(), 0)
                sys.stdin = os.fdopen(0, closefd=False)
                sys.stdout, sys.stderr = (os.fdopen(stream, "w", closefd=False) for stream in (1, 2))
                torch.set_num_threads(1)
                limit_memory()
                code = bangbang(arguments)
            except SystemExit as error:
                code = error.code if isinstance(error.code, int) else 70
            except BaseException:
                traceback.print_exc()
            finally:
                with contextlib.suppress(Exception):
                    sys.stdout.flush()
                    sys.stderr.flush()
                os._exit(code)
        code = awaited(child)
        told.seek(0)
        return Outcome(code, told.read().decode(errors="replace"))


def limit_memory() -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))


def awaited(child: int) -> int | None:
    """The exit code of a child; None, once it is killed, if it takes too long."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=0, help="try so many, chosen by --seed (all)")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose place, replacement or verb has this")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        ground = Ground(Path(folder))
        cases = [case for case in ground.cases() if arguments.only in " | ".join(case)]
        if arguments.cases:
            cases = random.Random(arguments.seed).sample(cases, min(len(cases), arguments.cases))
        bad = 0
        for case in cases:
            if trouble := ground.attempt(case):
                bad += 1
                print(f"{case.place}, {case.replacement}, {case.verb}: {trouble}", flush=True)
        print(f"{len(cases)} cases, {bad} failed")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
