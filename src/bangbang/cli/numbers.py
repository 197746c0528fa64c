"""Whole numbers on the command line, each with the range that makes sense."""

import argparse
from collections.abc import Callable

from bangbang.conversion import LARGEST
from bangbang.nearness import near_number


def whole(least: int = 0, most: int = LARGEST) -> Callable[[str], int]:
    """What argparse takes for `type`: a whole number from `least` to `most`."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:  # no number, or one of thousands of digits
            told = near_number(text[:40], whole=True)
            raise argparse.ArgumentTypeError(f"expected a whole number, got {text[:40]!r}{told}") from None
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"must be at least {least:,} and at most {most:,}, not {text[:40]}")
        return number

    return read


seed = whole()
