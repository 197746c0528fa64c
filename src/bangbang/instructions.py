"""Whether the CPU can do the bfloat16 that it advertises, before this process relies on it.

Some virtual machines advertise Intel's AMX and do not let it run: the first product of bfloat16 matrices then ends the
process with SIGILL. So a product is tried first, in a process of its own. Where it dies, oneDNN, which chooses the
instructions, is kept from AMX for this run; where that does not help, bfloat16 is refused.

oneDNN reads its limit once, when it is first used: not when torch is imported, but at any product of matrices.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from bangbang.errors import InputError

VARIABLE, LIMIT = "ONEDNN_MAX_CPU_ISA", "AVX10_1_512"  # the most that oneDNN knows without AMX
PRODUCTS = """
import torch
for size in (3, 64):  # small and large products may go different ways
    a = torch.ones(2, size, size, dtype=torch.bfloat16, requires_grad=True)
    (torch.bmm(a, a) + torch.nn.functional.linear(a, a[0], a[0, 0])).sum().backward()
"""
# -P: no module of the current folder may pass for torch
TRIAL = (sys.executable, "-P", "-c", PRODUCTS)
REFUSED = "training.mixed_precision=bf16: this CPU advertises instructions for bfloat16 that it does not run"


@cache
def secure_bfloat16() -> None:
    """Make sure that bfloat16 on this CPU does not end this process; an InputError if that cannot be had."""
    if claims_bfloat16():
        secure(TRIAL, multiplies_here)


def claims_bfloat16(cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether the CPU advertises instructions for bfloat16, or does not say what it has.

    Without them bfloat16 is multiplied by the instructions that float32 has too, and there is nothing to try.
    """
    try:
        told = re.findall(r"^(?:flags|Features)\s*:.*", cpuinfo.read_text("ascii", "replace"), re.MULTILINE)
    except OSError:
        return True
    return not told or any(re.search("amx|bf16", line) for line in told)


def secure(trial: Sequence[str], works_here: Callable[[], bool]) -> None:
    """Limit oneDNN if the trial fails without the limit; `works_here` tells whether this process heeds it."""
    before = os.environ.get(VARIABLE)
    needed = failure(trial, {}) != ""
    if needed:
        if failed := failure(trial, {VARIABLE: LIMIT}):
            raise InputError(f"{REFUSED}, not even with {VARIABLE}={LIMIT} ({failed}); use training.mixed_precision=no")
        os.environ[VARIABLE] = LIMIT
    if VARIABLE in os.environ and not works_here():  # a limit, ours or another's, that came too late
        del os.environ[VARIABLE]
        os.environ |= {} if before is None else {VARIABLE: before}
        raise InputError(f"{REFUSED}, and oneDNN is in use already; set {VARIABLE}={LIMIT} before Python starts")
    if needed and os.environ.get("LOCAL_RANK", "0") == "0":  # one process of a host speaks for all
        note = f"this CPU does not run all that it advertises; bfloat16 goes without AMX ({VARIABLE}={LIMIT})"
        print(f"bangbang: {note}", file=sys.stderr)


def failure(command: Sequence[str], settings: dict[str, str]) -> str:
    """How a command fails in this environment with these settings, in a word or two; nothing if it does not."""
    quiet = subprocess.DEVNULL
    code = subprocess.call(command, env={**os.environ, **settings}, stdin=quiet, stdout=quiet, stderr=quiet)
    if code < 0:
        return signal.strsignal(-code) or f"signal {-code}"
    return f"exit code {code}" if code else ""


def multiplies_here() -> bool:
    """Whether this very process can multiply bfloat16 matrices."""
    return "torch" not in sys.modules or survives(small_product)


def survives(work: Callable[[], object]) -> bool:
    """Whether `work` would go well in this process: a copy of it does it."""
    copy = os.fork()
    if copy == 0:
        ended = 1
        try:
            work()
            ended = 0
        finally:
            os._exit(ended)
    return os.waitpid(copy, 0)[1] == 0


def small_product() -> None:
    import torch

    torch.set_num_threads(1)  # the others are not in the copy
    rows = torch.ones(64, 64, dtype=torch.bfloat16)
    torch.mm(rows, rows)
