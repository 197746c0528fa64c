"""What this room needs to be installed, said in one line where it is not. Nothing here imports torch."""

from importlib.metadata import PackageNotFoundError, version

from bangbang.errors import InputError

LOWEST = (5, 19)
WAY_OUT = "pip install 'bangbang[hf]'"


def require(what: str, peft: bool = False) -> None:
    """An InputError unless transformers, and where it is needed peft, can be imported."""
    for package in ("transformers", *(("peft",) if peft else ())):
        try:
            found = version(package)
        except PackageNotFoundError:
            raise InputError(f"{what} needs {package}: {WAY_OUT}") from None
        if package == "transformers" and tuple(map(int, found.split(".")[:2])) < LOWEST:
            raise InputError(f"{what} needs transformers {'.'.join(map(str, LOWEST))} or later, not {found}: {WAY_OUT}")
