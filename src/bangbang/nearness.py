"""What a person may have meant by a name that is not known, or by a path that is not there."""

import difflib
import re
from collections.abc import Iterable
from pathlib import Path

CONFIGS = Path("configs")
LONGEST = 200  # characters of a name that may get an ending


def near(name: str, known: Iterable[str]) -> str:
    """ "; did you mean 'train'?", or nothing where no known name is like this one."""
    found = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {found[0]!r}?" if found else ""


SEPARATOR = "[,_']"
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:[,_']\d{3})+(?:\.\d+)?")
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+")
LISTED = re.compile(r"\d+(?:,\d+)+")
SWITCHES = {"true": "true", "yes": "true", "on": "true", "false": "false", "no": "false", "off": "false"}


def near_number(text: str, whole: bool = False) -> str:
    """The same of a number that was written with commas: 1,000 is 1000, and 0,5 is 0.5, or if it is to be whole 0 5."""
    if THOUSANDS.fullmatch(text):
        return f"; did you mean {re.sub(SEPARATOR, '', text)}?"
    if whole and LISTED.fullmatch(text):
        return f"; several stand apart: {text.replace(',', ' ')}"
    if not whole and DECIMAL_COMMA.fullmatch(text):
        return f"; did you mean {text.replace(',', '.')}?"
    return ""


def near_value(value: object, kind: type) -> str:
    """The same of a setting's value that is not of the type it should be."""
    if kind is bool and str(value).lower() in SWITCHES:
        return f"; did you mean {SWITCHES[str(value).lower()]}?"
    if kind is int and isinstance(value, float) and value.is_integer():
        return f"; did you mean {int(value)}?"
    return near_number(value, kind is int) if isinstance(value, str) and kind in (int, float) else ""


def near_config(path: Path) -> str:
    """The same of a config file: with its ending, in the folder that was named, in `configs`, or that of a run."""
    if len(path.name) > LONGEST:
        return ""
    places = [path.parent / f"{path.name}.toml", *beside(path), *CONFIGS.glob("*.toml")]
    exact = [place for place in places if place.is_file() and (place.stem, place.suffix) == (path.stem, ".toml")]
    exact += [place for place in [path / "config.toml"] if place.is_file()]
    if exact:
        return f"; did you mean {str(exact[0])!r}?"
    return near(str(path), (str(place) for place in places if place.suffix == ".toml" and place.is_file()))


def near_run(folder: Path) -> str:
    """The same of a run's folder: one below it, the one that it is in, or one with a name like it."""
    below = sorted(folder.glob("*/config.toml")) or sorted(folder.glob("runs/*/config.toml"))
    if below:
        return f"; did you mean {str(below[0].parent)!r}?"
    if folder.exists() and (folder.parent / "config.toml").is_file():  # a run's checkpoints, say
        return f"; did you mean {str(folder.parent)!r}?"
    return near(str(folder), (str(place) for place in beside(folder) if (place / "config.toml").is_file()))


def beside(path: Path) -> list[Path]:
    """What is in the folder of a path, as far as that can be read."""
    try:
        return sorted(path.parent.iterdir())
    except OSError:
        return []
