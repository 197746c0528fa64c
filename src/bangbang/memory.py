"""Whether what is asked for fits into the machine: said before it is allocated."""

import os

from bangbang.errors import InputError

SAMPLED_TOKEN = 24  # bytes at least: its number, two random numbers, its log-probability and its reward


def machine_bytes() -> int | None:
    """The machine's memory; None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def require(needed: int, what: str, way_out: str) -> None:
    """An InputError if `needed` bytes, a lower bound, are more than the machine has."""
    most = machine_bytes()
    if most is not None and needed > most:
        raise InputError(
            f"{what} needs at least {needed / 2**30:,.0f} GiB of memory, and this machine has {most / 2**30:,.0f}; "
            f"{way_out}"
        )
