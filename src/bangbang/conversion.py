"""What a config file says as typed settings: each value is checked, and an error says where it stands."""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

from bangbang import registry
from bangbang.corpora.settings import CorpusSettings
from bangbang.errors import InputError
from bangbang.nearness import near_value
from bangbang.settings import KindSettings, Settings

LARGEST = 2**53  # whole numbers up to here are exact in every format a setting goes through
ANY_CORPUS = "files"  # what [data] means by a corpus that has no name


def suggestion(key: str, known: Iterable[str]) -> str:
    names = list(known)
    near = difflib.get_close_matches(key, names, n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else f"; known keys are {', '.join(names)}"


def chosen(base: type[KindSettings], table: Mapping[str, Any], where: str) -> type[KindSettings]:
    """The dataclass of the kind that a table names, or of the default one."""
    if issubclass(base, CorpusSettings):
        name = table.get("corpus", registry.default(base.group))
        if not isinstance(name, str):
            raise InputError(f"{where}: corpus: expected str, got {excerpt(name)!r}")
        named_so = name != ANY_CORPUS and registry.has(base.group, name)
        return registry.find(base.group, name if named_so else ANY_CORPUS, where)
    name = table.get("kind", registry.default(base.group))
    if not isinstance(name, str):
        raise InputError(f"{where}: kind: expected str, got {excerpt(name)!r}")
    return registry.find(base.group, name, f"{where}: kind")


def convert_table(value: Any, base: type[Settings], where: str) -> Settings:
    """An instance of a table's dataclass, or of the one that its kind chooses."""
    if not isinstance(value, Mapping):
        raise InputError(f"{where}: expected a table")
    kind: type[Settings] = base
    if issubclass(base, KindSettings):
        kind = chosen(base, value, where)
        if not issubclass(kind, CorpusSettings):
            value = {key: entry for key, entry in value.items() if key != "kind"}
    hints = get_type_hints(kind)
    fields = registry.fields_of(kind)
    for key in value:
        if key not in fields:
            raise InputError(f"{where}: {unknown_key(key, base, kind, fields)}")
    return kind(**{key: convert(entry, hints[key], f"{where}: {key}") for key, entry in value.items()})


def unknown_key(key: str, base: type[Settings], kind: type[Settings], fields: list[str]) -> str:
    """What to say of a key that a kind does not have: perhaps it is another kind's."""
    if issubclass(base, KindSettings) and issubclass(kind, KindSettings):
        selector = "corpus" if issubclass(base, CorpusSettings) else "kind"
        own = registry.name_of(kind)
        owners = registry.owners(base.group, key)
        if owners:
            only = owners[0] if len(owners) == 1 else ""
            way = f"set {base.table}.{selector}={only}" if only else f"choose one by {selector}"
            way = "make data.corpus a path" if base.table == CorpusSettings.table and only == ANY_CORPUS else way
            return f"{key!r} belongs to {selector} {' and '.join(owners)}, and this is {own!r}; {way}, or leave it out"
        fields = [selector, *(name for name in fields if name != selector)]
    return f"unknown key {key!r}{suggestion(key, fields)}"


def convert(value: Any, kind: Any, where: str) -> Any:
    """A value of a config file as the type `kind`; an InputError says what was expected."""
    if isinstance(kind, type) and issubclass(kind, Settings):
        return convert_table(value, kind, where)
    origin = get_origin(kind)
    if origin is Literal:
        if value not in get_args(kind):
            raise InputError(f"{where}: {excerpt(value)!r} is not one of {', '.join(map(repr, get_args(kind)))}")
        return value
    if origin is tuple:
        if not isinstance(value, list):
            told = f'; did you mean ["{value}"]?' if isinstance(value, str) and value.isidentifier() else ""
            raise InputError(f"{where}: expected a list, got {excerpt(value)!r}{told}")
        return tuple(convert(each, get_args(kind)[0], where) for each in value)
    if origin is not None:
        if not isinstance(value, Mapping):
            raise InputError(f"{where}: expected a table")
        return dict(value)
    return convert_value(value, kind, where)


def excerpt(value: Any) -> str:
    """The beginning of a value; Python refuses to write out whole numbers of thousands of digits."""
    return "a very large number" if isinstance(value, int) and abs(value) > LARGEST else str(value)[:80]


def convert_value(value: Any, kind: type[Any], where: str) -> Any:
    if isinstance(value, int) and abs(value) > LARGEST:
        raise InputError(f"{where}: larger than any number here may be")
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not kind:
        raise InputError(f"{where}: expected {kind.__name__}, got {excerpt(value)!r}{near_value(value, kind)}")
    if value != value:
        raise InputError(f"{where}: is not a number")
    if isinstance(value, str) and "\0" in value:
        raise InputError(f"{where}: has a NUL character in it")
    return value
