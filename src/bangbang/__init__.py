"""Train text generators against the metric they are judged by, from a cold start.

The parts are `bangbang.rewards`, `.objectives`, `.models`, `.heads`, `.decoding`, `.metrics`, `.data`, `.features` and
`.training`. Each is imported when it is first used, so that `import bangbang` itself costs next to nothing.
"""

from importlib import import_module
from types import ModuleType

__version__ = "0.2.0"

_ROOMS = (
    "contracts",
    "registry",
    "tasks",
    "corpora",
    "rewards",
    "objectives",
    "models",
    "heads",
    "decoding",
    "metrics",
    "data",
    "features",
    "training",
    "config",
)


def __getattr__(name: str) -> ModuleType:
    if name in _ROOMS:
        return import_module(f"bangbang.{name}")
    raise AttributeError(f"module 'bangbang' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *_ROOMS]
