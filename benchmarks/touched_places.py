"""Which places of a stranger's folder a verb asks the system for, by strace, for `benchmarks.hostile`.

What is put at a place that a verb never asks for cannot matter to it: until it asks, all is as on sound files.
"""

import os
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.hostile_ground import Ground
from benchmarks.hostile_workers import in_process

NAMED = re.compile(r'(?:(?:AT_FDCWD|\d+)(?:<([^>]*)>)?, )?"((?:[^"\\]|\\.)*)"')
LISTED = re.compile(r"getdents64\(\d+<([^>]*)>")


class Touched(NamedTuple):
    named: set[str]
    """Every path that is in a call, relative to the stranger's folder, with all folders above it."""
    listed: set[str]
    """Folders whose entries were read."""

    def has(self, place: str) -> bool:
        return place in self.named or str(Path(place).parent) in self.listed


def touched(ground: Ground, verb: str, name: str) -> Touched | None:
    """What the verb asks for on sound files; None where that cannot be found out."""
    if shutil.which("strace") is None:
        return None
    ground.restore()
    log = ground.theirs.parent / "calls"
    words, (reader, writer) = ground.command(verb, name), os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writer)
        os.read(reader, 1)  # until it is watched
        in_process(words, ground.work)
    os.close(reader)
    options = ["-f", "-y", "-qq", "-e", "trace=%file,getdents64", "-o", str(log), "-p", str(child)]
    with subprocess.Popen(["strace", *options], stderr=subprocess.DEVNULL) as watching:
        while watching.poll() is None and not is_watched(child):
            time.sleep(0.01)
        os.close(writer)
        os.waitpid(child, 0)
    found = read_calls(log, ground) if watching.returncode == 0 else None
    log.unlink(missing_ok=True)
    return found


def is_watched(process: int) -> bool:
    return "\nTracerPid:\t0\n" not in Path(f"/proc/{process}/status").read_text()


def read_calls(log: Path, ground: Ground) -> Touched:
    root, named, listed = f"{ground.theirs}/", set[str](), set[str]()
    for line in log.read_text(errors="replace").splitlines():
        if found := LISTED.search(line):
            listed.add(found[1].removeprefix(root))
        for base, path in NAMED.findall(line):
            whole = os.path.normpath(Path(base or ground.work) / path)
            if whole.startswith(root):
                relative = Path(whole.removeprefix(root))
                named |= {str(relative), *map(str, relative.parents)}
    return Touched(named, listed)
