"""Where a corpus may be made: a config that somebody else wrote names folders, too."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bangbang.errors import InputError
from bangbang.folders import below, named

CACHE, PATH = "data.cache", "data.path"  # the settings that name folders in which things are made


class Consent(NamedTuple):
    """Which of the folders that a config names may be written to."""

    settings: frozenset[str] = frozenset((CACHE, PATH))
    """Those that the user's own words set: they may name any folder, by way of any link."""
    homes: tuple[Path, ...] = ()
    """The others may only name a folder below one of these, and not by way of a link."""
    way_out: str = ""
    """What to say where there is no consent; if empty, how to set the key."""

    def place(self, key: str, folder: str) -> Path | None:
        """Where to make what goes into `folder`, the value of the setting `key`; None if that is nowhere."""
        if key in self.settings:
            return named(Path(folder))
        places = (below(home, Path(folder)) for home in self.homes)
        return next((place for place in places if place and named(place) == place), None)

    def required(self, key: str, folder: str) -> Path:
        if place := self.place(key, folder):
            return place
        way_out = self.way_out or f"to allow it: --set {key}={folder}"
        raise InputError(f"{key} = {folder!r}: a config may not write there, nor by way of a link; {way_out}")


FULL = Consent()


def for_config(path: Path, settings: Sequence[str]) -> Consent:
    """For the config file `path`, changed by the command line's `settings`: below the working folder and its own."""
    keys = frozenset(setting.partition("=")[0].strip() for setting in settings)
    return Consent(keys & {CACHE, PATH}, (Path.cwd(), path.parent))
