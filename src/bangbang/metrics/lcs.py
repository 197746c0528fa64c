"""Longest common subsequences with bit vectors: one Python integer holds a whole row of the dynamic programme.

The table of the textbook recurrence over x (rows i) and y (columns j) is
    c[i, j] = c[i-1, j-1] + 1            where x_i = y_j
            = max(c[i-1, j], c[i, j-1])  elsewhere.
Row i is kept as an integer whose bit j-1 is 0 where c[i, j] = c[i, j-1] + 1 (Crochemore et al. 2001, Hyyrö 2004), so a
row costs a few machine words per 64 columns and c[i, j] is the number of zeros in its first j bits.
"""

from collections.abc import Hashable, Sequence
from math import isqrt

# a table of at most so many bits is kept whole for the way back; a larger one is recomputed block by block
_BITS_KEPT = 1 << 28


def columns(y: Sequence[Hashable]) -> dict[Hashable, int]:
    """For every token of y, an integer with a bit set at each of its positions."""
    if len(y) > 4096:
        return _columns_of_long(y)
    found: dict[Hashable, int] = {}
    bit = 1
    for token in y:
        found[token] = found.get(token, 0) | bit
        bit <<= 1
    return found


def _columns_of_long(y: Sequence[Hashable]) -> dict[Hashable, int]:
    """The same in time linear in the positions: setting single bits of a long integer would copy it each time."""
    positions: dict[Hashable, list[int]] = {}
    for index, token in enumerate(y):
        positions.setdefault(token, []).append(index)
    found: dict[Hashable, int] = {}
    for token, indices in positions.items():
        octets = bytearray(indices[-1] // 8 + 1)
        for index in indices:
            octets[index >> 3] |= 1 << (index & 7)
        found[token] = int.from_bytes(octets, "little")
    return found


def length(x: Sequence[Hashable], y: Sequence[Hashable]) -> int:
    """The length of the longest common subsequence."""
    if len(x) < len(y):
        x, y = y, x  # fewer bits per row
    where = columns(y)
    ones = (1 << len(y)) - 1
    row = ones
    for token in x:
        matches = where.get(token)
        if matches:
            met = row & matches
            row = ((row + met) | (row - met)) & ones
    return len(y) - row.bit_count()


def matched_rows(x: Sequence[Hashable], y: Sequence[Hashable]) -> list[int]:
    """The positions of x in the one LCS that the textbook way back finds, last first.

    From the corner (|x|, |y|): diagonally at a match, else up where c[i-1, j] >= c[i, j-1], else left.
    """
    where = columns(y)
    # a row whose token y lacks equals the row above, and the way back goes straight up through it
    kept = [index for index, token in enumerate(x) if token in where]
    if not kept:
        return []
    return [kept[row] for row in _rows_on_the_way(x if len(kept) == len(x) else [x[index] for index in kept], y, where)]


def _rows_on_the_way(x: Sequence[Hashable], y: Sequence[Hashable], where: dict[Hashable, int]) -> list[int]:
    block = len(x) if len(x) * len(y) <= _BITS_KEPT else isqrt(len(x)) + 1
    ones = (1 << len(y)) - 1
    starts = _rows(x, where, ones, ones, keep_every=block)
    found: list[int] = []
    column, below = len(y), len(y) - starts[-1].bit_count()  # below: c at the current cell, the LCS still to be found
    for first in range((len(x) - 1) // block * block, -1, -block):
        part = x[first : first + block]
        rows = _rows(part, where, starts[first // block], ones, keep_every=1)
        column, below = _way_back(part, first, rows, where, column, below, found)
    return found


def _rows(x: Sequence[Hashable], where: dict[Hashable, int], row: int, ones: int, keep_every: int) -> list[int]:
    """The row before x, every so manyth row within it, and (last) the row after it."""
    rows = [row]
    for index, token in enumerate(x, 1):
        matches = where.get(token)
        if matches:
            met = row & matches
            row = ((row + met) | (row - met)) & ones
        if index % keep_every == 0 or index == len(x):
            rows.append(row)
    return rows


def _way_back(
    x: Sequence[Hashable],
    offset: int,
    rows: list[int],
    where: dict[Hashable, int],
    column: int,
    below: int,
    found: list[int],
) -> tuple[int, int]:
    for i in range(len(x) - 1, -1, -1):
        if not below:
            break
        matches = where.get(x[i], 0)
        first_columns = (1 << column) - 1
        if not matches >> (column - 1) & 1:
            above = column - (rows[i] & first_columns).bit_count()
            if above == below:
                continue  # up
            # left: above stays less than below there, so the way goes left until x_i matches
            column = (matches & first_columns).bit_length()
        found.append(offset + i)
        column -= 1
        below -= 1
    return column, below
