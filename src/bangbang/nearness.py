"""What a person may have meant by a name that is not known, or by a path that is not there."""

import difflib
from collections.abc import Iterable
from pathlib import Path

CONFIGS = Path("configs")
LONGEST = 200  # characters of a name that may get an ending


def near(name: str, known: Iterable[str]) -> str:
    """ "; did you mean 'train'?", or nothing where no known name is like this one."""
    found = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {found[0]!r}?" if found else ""


def near_config(path: Path) -> str:
    """The same of a config file: with its ending, in the folder that was named, or in `configs`."""
    if len(path.name) > LONGEST:
        return ""
    places = [path.parent / f"{path.name}.toml", *beside(path), *CONFIGS.glob("*.toml")]
    exact = [place for place in places if place.is_file() and place.stem == path.stem]
    if exact:
        return f"; did you mean {str(exact[0])!r}?"
    return near(str(path), (str(place) for place in places if place.suffix == ".toml" and place.is_file()))


def near_run(folder: Path) -> str:
    """The same of a run's folder: one below it, or one with a name like it."""
    below = sorted(folder.glob("*/config.toml")) or sorted(folder.glob("runs/*/config.toml"))
    if below:
        return f"; did you mean {str(below[0].parent)!r}?"
    return near(str(folder), (str(place) for place in beside(folder) if (place / "config.toml").is_file()))


def beside(path: Path) -> list[Path]:
    """What is in the folder of a path, as far as that can be read."""
    try:
        return sorted(path.parent.iterdir())
    except OSError:
        return []
