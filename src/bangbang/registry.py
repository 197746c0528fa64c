"""Names to kinds: what a config may choose, built in or brought by an installed package.

A kind is a settings dataclass with a `build` method. Ours stand in `KINDS` of their room's `settings` module. A guest's
package names its own by entry points, such as

    [project.entry-points."bangbang.rewards"]
    keywords = "my_package:Keywords"

A name in a config only finds what is installed. Nothing is imported from a path, and no built-in name can be taken.
"""

import dataclasses
import difflib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple

from bangbang.errors import InputError
from bangbang.settings import KindSettings

OURS = "bangbang"
# group -> the module whose KINDS are ours
HOMES = {
    "tasks": "bangbang.tasks.settings",
    "corpora": "bangbang.corpora.settings",
    "models": "bangbang.models.settings",
    "objectives": "bangbang.objectives.settings",
    "rewards": "bangbang.rewards.settings",
    "metrics": "bangbang.metrics.settings",
    "vocabularies": "bangbang.data.settings",
}
CLOSED = {"vocabularies"}  # groups without entry points: the core's alphabet is not a guest's to change
_guests: dict[type[Any], str] = {}  # the names of guests' kinds that were loaded


class Kind(NamedTuple):
    """A kind as `bangbang plugins` lists it."""

    name: str
    package: str
    settings: type[KindSettings] | None
    trouble: str = ""
    """Why it cannot be used; empty if it can."""


@cache
def built_in(group: str) -> Mapping[str, type[KindSettings]]:
    """Our own kinds of a group, the default first."""
    kinds: Mapping[str, type[KindSettings]] = import_module(HOMES[group]).KINDS
    return kinds


def default(group: str) -> str:
    return next(iter(built_in(group)))


def names(group: str) -> list[str]:
    """All names of a group: ours, then those of installed packages."""
    return list(dict.fromkeys([*built_in(group), *(point.name for point in guests(group))]))


def guests(group: str) -> list[EntryPoint]:
    """What installed packages bring, by name; our own names are not theirs to take."""
    if group in CLOSED:
        return []
    found = (point for point in entry_points(group=f"{OURS}.{group}") if point.name not in built_in(group))
    return sorted(found, key=lambda point: (point.name, package_of(point)))


def package_of(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else "?"


def has(group: str, name: str) -> bool:
    return name in built_in(group) or any(point.name == name for point in guests(group))


def find(group: str, name: str, where: str) -> type[KindSettings]:
    """The settings dataclass of a kind; `where` starts the message if there is none."""
    if name in built_in(group):
        return built_in(group)[name]
    points = [point for point in guests(group) if point.name == name]
    if not points:
        raise InputError(f"{where}: {name!r} is not one of {', '.join(map(repr, names(group)))}{near(name, group)}")
    if len(points) > 1:
        packages = " and ".join(package_of(point) for point in points)
        raise InputError(f"{where}: {name!r} is brought by {packages}; uninstall all but one")
    return load(group, points[0])


def near(name: str, group: str) -> str:
    found = difflib.get_close_matches(name, names(group), n=1, cutoff=0.5)
    return f"; did you mean {found[0]!r}?" if found else ""


def load(group: str, point: EntryPoint) -> type[KindSettings]:
    """A guest's settings dataclass, once it has shown to be one."""
    try:
        kind = point.load()
    except Exception as error:  # a guest's module may fail in any way
        told = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"{package_of(point)}: {point.value} cannot be imported ({told})") from None
    base = base_of(group)
    if not isinstance(kind, type) or not issubclass(kind, base) or not dataclasses.is_dataclass(kind):
        raise InputError(f"{package_of(point)}: {point.value} is not a dataclass derived from {base.__name__}")
    if missing := sorted(kind.__abstractmethods__):
        raise InputError(f"{package_of(point)}: {point.value} does not define {' and '.join(missing)}")
    _guests[kind] = point.name
    return kind


def base_of(group: str) -> type[KindSettings]:
    """What all settings dataclasses of a group derive from."""
    first = next(iter(built_in(group).values()))
    return next(cls for cls in first.__mro__ if KindSettings in cls.__bases__)


def name_of(kind: type[KindSettings]) -> str:
    """The name that chooses a settings dataclass; its class's own for one that no config can choose."""
    for name, known in built_in(kind.group).items():
        if known is kind:
            return name
    return _guests.get(kind, kind.__name__)


def owners(group: str, key: str) -> list[str]:
    """The kinds that have a setting of this name."""
    return [name for name, kind in built_in(group).items() if key in fields_of(kind)]


def fields_of(kind: type[Any]) -> list[str]:
    return [field.name for field in dataclasses.fields(kind)]


def everything() -> Iterator[tuple[str, Kind]]:
    """Every kind of every group, a guest that cannot be loaded with why."""
    for group in (name for name in HOMES if name not in CLOSED):
        for name, kind in built_in(group).items():
            yield group, Kind(name, OURS, kind)
        for point in guests(group):
            try:
                yield group, Kind(point.name, package_of(point), load(group, point))
            except InputError as error:
                yield group, Kind(point.name, package_of(point), None, str(error))
